package import VaultModel

/// An unlocked keyring, which holds every key of a vault except the unlock key.
package final class Keyring: Sendable {
    package let vaultID: VaultID
    /// The unlock method of the slot that opened the keyring.
    package let unlockedBy: UnlockMethod
    /// The number of the slot that opened the keyring.
    package let unlockedSlot: Int64

    /// The keyring file that another process may rewrite.
    private struct FollowedFile: Sendable {
        let read: @Sendable () throws -> [UInt8]
    }

    private let opened: Locked<KeyringKeys>
    /// The sealed root keys of the slots that are known to open.
    ///
    /// They belong to the slot that opened the keyring, and to the slots that this process sealed for a secret.
    private let proved: Locked<Set<[UInt8]>>
    /// The keyring file; nil until ``follow(reading:)`` is called.
    private let followed = Locked<FollowedFile?>(nil)
    /// The lock that is held while the keyring file is being written.
    private let writing = Locked(())

    /// The current keys, which another thread may replace at any moment.
    var keys: KeyringKeys { opened.withLock { $0 } }

    /// The revision of the keyring file, which increases with each write.
    package var revision: Int64 { opened.withLock { $0.revision } }

    /// The generation that new resources use.
    package var currentGeneration: Int { opened.withLock { $0.current } }

    /// The epoch of newly created tokens. Raising it revokes all existing tokens.
    package var tokenEpoch: Int64 { opened.withLock { $0.tokenEpoch } }

    /// The generations that still have a key, in ascending order.
    package var activeGenerations: [Int] { keys.generations.keys.sorted() }

    /// The records of the generations in ascending order, except for ``foldedGenerations``.
    package var generationRecords: [GenerationRecord] { keys.records }

    /// The generations that were retired long ago, in ascending order.
    package var foldedGenerations: [ClosedRange<Int>] { keys.folded }

    /// Whether a generation existed and was retired.
    package func isRetired(_ generation: Int) -> Bool {
        let keys = keys
        return keys.folded.contains { $0.contains(generation) }
            || keys.records.contains { $0.number == generation && $0.isRetired }
    }

    /// The numbers of the locators in ascending order. There is one, or two while the locator is being changed.
    package var locators: [Int] { keys.locators.keys.sorted() }

    /// The number of the newest locator, which a new vault uses.
    package var newestLocator: Int { keys.locators.keys.max() ?? 0 }

    init(document: KeyringDocument, rootKey: SharedKey, unlockedBy slot: KeyringDocument.Slot) throws {
        vaultID = document.vaultID
        unlockedBy = slot.method
        unlockedSlot = slot.number
        opened = Locked(try KeyringKeys(opening: document, rootKey: rootKey))
        proved = Locked([slot.rootKey])
    }

    // MARK: Slots that open

    /// Records that a slot is known to open, because a secret for it was available.
    func noteOpens(of slot: KeyringDocument.Slot) { proved.withLock { _ = $0.insert(slot.rootKey) } }

    /// Whether a slot is known to open.
    func isProved(_ slot: KeyringDocument.Slot) -> Bool { proved.withLock { $0.contains(slot.rootKey) } }

    // MARK: Changing

    /// Changes the keyring file and, once it is durable, the keys in memory. Blocks.
    ///
    /// If this throws, the keys in memory are unchanged. The file is unchanged too, unless it could not be made
    /// durable: it may then be the old or the new one.
    ///
    /// - Parameters:
    ///   - read: returns the bytes of the keyring file.
    ///   - edit: makes the change. This function raises the revision.
    ///   - write: makes the new bytes durable.
    /// - Throws: ``VaultError`` if the file belongs to another keyring or is older than the one in memory; the errors
    ///   of ``KeyringEdit/finished()``; any error that `read`, `edit` or `write` throws.
    package func change<Result>(
        reading read: () throws -> [UInt8], _ edit: (inout KeyringEdit) throws -> Result,
        writing write: (FinishedKeyring) throws -> Void
    ) throws -> Result {
        try writing.withLock { _ in
            let root = keys.rootKey
            let document = try KeyringReader.document(in: try read(), authenticatedBy: root.secret)
            guard document.vaultID == vaultID else { throw KeyringReader.tampered }
            guard document.revision >= revision else {
                throw VaultError(
                    .olderKeyring, "the keyring file is older than the one that was opened; put the newer one back")
            }
            var editing = KeyringEdit(document: document, rootKey: root)
            let result = try edit(&editing)
            // Bytes that do not open again must not be written.
            let finished = try editing.finish()
            try write(finished)
            // A new root key is sealed only for slots that a secret has just opened.
            if finished.rootKey !== root { for slot in finished.slots { noteOpens(of: slot) } }
            opened.withLock { $0 = finished.keys }
            return result
        }
    }

    // MARK: Closing

    /// Releases every key.
    ///
    /// A closed keyring opens nothing, derives no names and changes nothing. Tokens that it creates are not valid
    /// anywhere.
    ///
    /// - Throws: ``VaultError`` with code `storage` if the system provides no randomness or memory; the keyring then
    ///   stays open.
    package func close() throws {
        // Both locks are taken, because a read or write in progress would otherwise put the keys back.
        followed.set(nil)
        try writing.withLock { _ in try opened.withLock { $0 = try KeyringKeys(closing: $0) } }
    }

    // MARK: Following

    /// Starts following the keyring file, which the vault's owner, in another process, may rewrite.
    ///
    /// The file is reread when this keyring lacks a key.
    package func follow(reading read: @escaping @Sendable () throws -> [UInt8]) {
        followed.set(FollowedFile(read: read))
    }

    /// Adopts a newer keyring file that another process wrote. A file with a new root key is ignored: the keyring must
    /// be unlocked again to read it.
    private func catchUp() {
        // The lock is held throughout, so that no keys are adopted after the keyring is closed.
        followed.withLock { file in
            let root = keys.rootKey
            guard let file, let document = try? KeyringReader.document(in: file.read(), authenticatedBy: root.secret),
                document.vaultID == vaultID, document.revision > revision,
                let newer = try? KeyringKeys(opening: document, rootKey: root)
            else { return }
            opened.withLock { $0 = newer }
        }
    }

    // MARK: Names

    /// Derives the resource id `R` from a cache key under a locator; nil if the keyring has no such locator.
    package func resourceID(cacheKey: [UInt8], locator: Int) -> ResourceID? {
        guard let key = opened.withLock({ $0.locators[locator] }) else { return nil }
        return ResourceID(bytes: KeyDerivation.value(from: key.secret, .resource, cacheKey))
    }

    /// Derives the part of a cache key that identifies a user, so that two users never share a body; nil if the keyring
    /// has no such locator.
    package func principal(_ identity: [UInt8], locator: Int) -> [UInt8]? {
        opened.withLock { $0.locators[locator] }.map { KeyDerivation.value(from: $0.secret, .principal, identity) }
    }

    // MARK: Records of the index

    /// Returns the key that seals records under a generation; nil if the keyring lacks the generation.
    ///
    /// - Parameter isFollowing: whether to reread the followed file if the keyring lacks the generation.
    package func recordKey(generation: Int, isFollowing: Bool = true) throws -> SharedKey? {
        if isFollowing, keys.generations[generation] == nil { catchUp() }
        return try keys.generations[generation].map { SharedKey(try KeyDerivation.key(from: $0.secret, .records)) }
    }

    /// Returns the key that sealed records in format versions up to 5; nil if the keyring lacks the locator or no
    /// longer opens such records.
    package func formerRecordKey(locator: Int) throws -> SharedKey? {
        if keys.locators[locator] == nil { catchUp() }
        let keys = keys
        guard keys.opensFormerRecords else { return nil }
        return try keys.locators[locator].map { SharedKey(try KeyDerivation.key(from: $0.secret, .index)) }
    }

    /// Whether the keyring opens records of format versions up to 5; false once a generation has been retired.
    package var opensFormerRecords: Bool { keys.opensFormerRecords }

    /// Whether the keyring has a key for records; false once it is closed.
    package var hasRecordKeys: Bool { opened.withLock { !$0.generations.isEmpty } }

    // MARK: Resource keys

    /// Seals a resource key under a generation's wrapping key, as 60 bytes for the index; nil if the keyring lacks the
    /// generation, or if a number does not fit 32 bits.
    package func wrap(
        _ key: borrowing SecretKey, resource: ResourceID, number: Int, generation: Int
    ) throws -> [UInt8]? {
        guard let wrapping = try wrappingKey(resource, generation) else { return nil }
        guard let data = Self.wrapData(resource, number, generation) else { return nil }
        return try SealedValue.seal(key, key: wrapping.secret, associatedData: data)
    }

    /// Opens a wrapped resource key.
    ///
    /// - Returns: nil if the keyring lacks the generation, or if the bytes are not this key as that generation wrapped
    ///   it.
    package func unwrap(
        _ wrapped: [UInt8], resource: ResourceID, number: Int, generation: Int
    ) throws -> SharedKey? {
        var wrapping = try wrappingKey(resource, generation)
        if wrapping == nil {
            catchUp()
            wrapping = try wrappingKey(resource, generation)
        }
        guard let wrapping, let data = Self.wrapData(resource, number, generation),
            let key = try SealedValue.openKey(wrapped, key: wrapping.secret, associatedData: data)
        else { return nil }
        return SharedKey(key)
    }

    private func wrappingKey(_ resource: ResourceID, _ generation: Int) throws -> SharedKey? {
        try opened.withLock { $0.generations[generation] }.map {
            SharedKey(try KeyDerivation.key(from: $0.secret, .wrap, resource.bytes))
        }
    }

    /// Returns the associated data for a wrapped key; nil if a number does not fit 32 bits.
    ///
    /// No two keys have the same associated data.
    private static func wrapData(_ resource: ResourceID, _ number: Int, _ generation: Int) -> [UInt8]? {
        guard let number = UInt32(exactly: number), let generation = UInt32(exactly: generation) else { return nil }
        return Array("resourceKey".utf8) + [0] + Array("wrapped".utf8) + [0] + resource.bytes
            + LittleEndian.bytes(number) + LittleEndian.bytes(generation)
    }

    // MARK: Tokens

    /// Authenticates a message under the token key, for use in capabilities and tokens.
    package func token(_ purpose: Purpose, _ message: [UInt8]) -> [UInt8] {
        KeyDerivation.value(from: opened.withLock { $0.tokenKey }.secret, purpose, message)
    }
}

// Seals links, so that they do not reveal their targets.
extension Keyring {
    /// Returns the key that seals links. Revoking all links replaces this key.
    package func linkKey() throws -> SharedKey {
        let (token, epoch) = opened.withLock { ($0.tokenKey, $0.tokenEpoch) }
        let message = LittleEndian.bytes(UInt64(clamping: epoch))
        return SharedKey(try KeyDerivation.key(from: token.secret, .hiddenLink, message))
    }

    /// Seals a link. The nonce is a keyed hash of the link, so that sealing the same link always yields the same text.
    package func sealLink(_ link: [UInt8], under key: SharedKey) -> [UInt8] {
        let nonce = token(.hiddenLinkNonce, link).prefix(AEAD.nonceByteCount)
        return SealedValue.seal(link, key: key.secret, nonce: Array(nonce))
    }

    /// Opens a sealed link; nil if it was not sealed under this key.
    package static func openLink(_ sealed: [UInt8], under key: SharedKey) -> [UInt8]? {
        SealedValue.open(sealed, key: key.secret, associatedData: [])
    }
}

/// The keys of an unlocked keyring, and the facts that its file states about them.
struct KeyringKeys: Sendable {
    let revision: Int64
    /// The generation that new resources use.
    let current: Int
    let tokenEpoch: Int64
    /// The number of the last receipt.
    let receiptSequence: Int64
    private(set) var rootKey: SharedKey
    private(set) var locators: [Int: SharedKey]
    private(set) var tokenKey: SharedKey
    /// The seed of the key that signs receipts (Ed25519).
    private(set) var receiptSeed: SharedKey
    /// The keys of the generations that have not been retired.
    private(set) var generations: [Int: SharedKey]
    /// The generations that were retired long ago, in ascending order.
    let folded: [ClosedRange<Int>]
    /// The records of all other generations, in ascending order.
    let records: [GenerationRecord]
    /// Whether the keyring opens records of format versions up to 5. Retiring a generation does not destroy their key.
    let opensFormerRecords: Bool

    /// Creates the keys of a closed keyring, which open nothing and derive no names.
    ///
    /// Anything signed afterwards is signed with a random key that belongs to no vault.
    init(closing keys: KeyringKeys) throws {
        let unusedKey = SharedKey(try SecureRandom.key("closed keyring"))
        self = keys
        (rootKey, tokenKey, receiptSeed) = (unusedKey, unusedKey, unusedKey)
        (locators, generations) = ([:], [:])
    }

    /// Opens every key in a document.
    ///
    /// - Throws: ``VaultError`` with code `tamperedKeyring` if a key does not open.
    init(opening document: KeyringDocument, rootKey: SharedKey) throws {
        let edit = KeyringEdit(document: document, rootKey: rootKey)
        revision = document.revision
        current = Int(document.current)
        tokenEpoch = document.tokenEpoch
        receiptSequence = document.receiptSequence
        self.rootKey = rootKey
        var locators: [Int: SharedKey] = [:]
        for locator in document.locators {
            locators[Int(locator.number)] = try edit.open(locator.key, .locator, locator.number)
        }
        self.locators = locators
        tokenKey = try edit.open(document.tokenKey, .token)
        receiptSeed = try edit.open(document.receiptKey, .receipt)
        var generations: [Int: SharedKey] = [:]
        for generation in document.generations {
            guard let key = generation.key else { continue }
            generations[Int(generation.number)] = try edit.open(key, .generation, generation.number)
        }
        self.generations = generations
        folded = document.retired.map(\.numbers)
        records = document.generations.map(GenerationRecord.init).sorted { $0.number < $1.number }
        opensFormerRecords = !document.sealsRecordsByGeneration
    }
}

/// The facts that a keyring states about a generation, apart from the generation's key.
package struct GenerationRecord: Hashable, Sendable {
    package let number: Int
    /// When the generation was created, in seconds since 1970.
    package let created: Int64
    /// Whether the generation's key has been destroyed.
    package let isRetired: Bool
    /// The number of keyring backup files that hold the generation's key.
    package let backups: Int

    init(_ generation: KeyringDocument.Generation) {
        number = Int(generation.number)
        created = generation.created
        isRetired = generation.key == nil
        backups = Int(generation.backups)
    }
}
