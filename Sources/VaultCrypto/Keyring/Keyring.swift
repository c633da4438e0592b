import Synchronization
package import VaultModel

/// An unlocked keyring: every key of a vault that is not the unlock key itself.
package final class Keyring: Sendable {
    package let vaultID: VaultID
    /// The generation that new resources use.
    package let currentGeneration: Int
    /// How the slot that opened it is unlocked.
    package let unlockedBy: UnlockMethod

    private let rootKey: SharedKey
    private let locators: [Int: SharedKey]
    private let tokenKey: SharedKey
    private let generations: [Int: SharedKey]
    private let writtenRevision: Atomic<Int64>
    private let epoch: Atomic<Int64>
    /// Held while the file is written anew.
    private let writing = Mutex(())

    /// Grows with each write of the keyring file.
    package var revision: Int64 { writtenRevision.load(ordering: .acquiring) }

    /// What every token is made with: raising it revokes them all.
    package var tokenEpoch: Int64 { epoch.load(ordering: .acquiring) }

    /// The generations that can still open something, in ascending order.
    package var activeGenerations: [Int] { generations.keys.sorted() }

    /// The locator that a new vault uses: the newest.
    package var newestLocator: Int { locators.keys.max() ?? 0 }

    init(document: KeyringDocument, rootKey: SharedKey, unlockedBy: UnlockMethod) throws {
        vaultID = document.vaultID
        writtenRevision = Atomic(document.revision)
        currentGeneration = Int(document.current)
        epoch = Atomic(document.tokenEpoch)
        self.unlockedBy = unlockedBy
        self.rootKey = rootKey
        let id = document.vaultID
        func open(_ sealed: [UInt8], _ role: KeyringDocument.Role, _ number: Int64 = 0) throws -> SharedKey {
            let data = KeyringDocument.associatedData(role, vaultID: id, number: number)
            guard let key = try SealedValue.openKey(sealed, key: rootKey.secret, associatedData: data) else {
                throw KeyringReader.tampered
            }
            return SharedKey(key)
        }
        var locators: [Int: SharedKey] = [:]
        for locator in document.locators {
            locators[Int(locator.number)] = try open(locator.key, .locator, locator.number)
        }
        self.locators = locators
        tokenKey = try open(document.tokenKey, .token)
        var generations: [Int: SharedKey] = [:]
        for generation in document.generations {
            guard let key = generation.key else { continue }
            generations[Int(generation.number)] = try open(key, .generation, generation.number)
        }
        self.generations = generations
    }

    // MARK: Names

    /// The resource id `R` of a cache key under a locator; nil where the keyring has no such locator.
    package func resourceID(cacheKey: [UInt8], locator: Int) -> ResourceID? {
        guard let key = locators[locator] else { return nil }
        return ResourceID(bytes: KeyDerivation.value(from: key.secret, .resource, cacheKey))
    }

    /// The part that an identity takes in a cache key, so that two users' bodies never share one.
    package func principal(_ identity: [UInt8], locator: Int) -> [UInt8]? {
        locators[locator].map { KeyDerivation.value(from: $0.secret, .principal, identity) }
    }

    /// The key of the index's own sealed values (`vault.settings`).
    package func indexKey(locator: Int) throws -> SharedKey? {
        try locators[locator].map { SharedKey(try KeyDerivation.key(from: $0.secret, .index)) }
    }

    // MARK: Resource keys

    /// Seals a resource key under the wrapping key of a generation: 60 bytes for the index.
    package func wrap(
        _ key: borrowing SecretKey, resource: ResourceID, number: Int, generation: Int
    ) throws -> [UInt8]? {
        guard let wrapping = try wrappingKey(resource, generation) else { return nil }
        return try SealedValue.seal(
            key, key: wrapping.secret, associatedData: Self.wrapData(resource, number, generation))
    }

    /// Opens a wrapped resource key.
    ///
    /// - Returns: nil where the generation is not in this keyring, or the bytes are not this key wrapped.
    package func unwrap(
        _ wrapped: [UInt8], resource: ResourceID, number: Int, generation: Int
    ) throws -> SharedKey? {
        guard let wrapping = try wrappingKey(resource, generation),
            let key = try SealedValue.openKey(
                wrapped, key: wrapping.secret, associatedData: Self.wrapData(resource, number, generation))
        else { return nil }
        return SharedKey(key)
    }

    private func wrappingKey(_ resource: ResourceID, _ generation: Int) throws -> SharedKey? {
        try generations[generation].map { SharedKey(try KeyDerivation.key(from: $0.secret, .wrap, resource.bytes)) }
    }

    private static func wrapData(_ resource: ResourceID, _ number: Int, _ generation: Int) -> [UInt8] {
        Array("resourceKey".utf8) + [0] + Array("wrapped".utf8) + [0] + resource.bytes
            + LittleEndian.bytes(UInt32(truncatingIfNeeded: number))
            + LittleEndian.bytes(UInt32(truncatingIfNeeded: generation))
    }

    // MARK: Tokens

    /// Authenticates a message under the token key: capabilities and the admin token.
    package func token(_ purpose: Purpose, _ message: [UInt8]) -> [UInt8] {
        KeyDerivation.value(from: tokenKey.secret, purpose, message)
    }

    /// Revokes every token made so far, here and for whoever unlocks the file from now on. Blocks.
    ///
    /// - Throws: ``VaultError`` where the file is not this keyring's, or an older one; what `read` and `write` throw.
    package func revokeTokens(reading read: () throws -> [UInt8], writing write: ([UInt8]) throws -> Void) throws {
        try writing.withLock { _ in
            var document = try KeyringReader.document(in: try read(), authenticatedBy: rootKey.secret)
            guard document.vaultID == vaultID else { throw KeyringReader.tampered }
            guard document.revision >= revision else {
                throw VaultError(
                    .olderKeyring, "the keyring's file is older than what was opened; put the newer one back")
            }
            document.tokenEpoch += 1
            document.revision += 1
            try write(try document.encoded(rootKey: rootKey.secret))
            epoch.store(document.tokenEpoch, ordering: .releasing)
            writtenRevision.store(document.revision, ordering: .releasing)
        }
    }
}
