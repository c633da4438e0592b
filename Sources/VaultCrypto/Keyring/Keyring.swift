package import VaultModel

/// An unlocked keyring: every key of a vault that is not the unlock key itself.
package final class Keyring: Sendable {
    package let vaultID: VaultID
    /// How the slot that opened it is unlocked.
    package let unlockedBy: UnlockMethod
    /// The number of that slot.
    package let unlockedSlot: Int64

    private let opened: Locked<KeyringKeys>
    /// Sealed root keys of slots that are known to open: what opened the keyring, and what was sealed here for a secret.
    private let proved: Locked<Set<[UInt8]>>
    /// Reads the file again, where another process may write it.
    private let followed = Locked<(@Sendable () throws -> [UInt8])?>(nil)
    /// Held while the file is written anew.
    private let writing = Locked(())

    /// The keys as they are now; they may be others a moment later.
    var keys: KeyringKeys { opened.withLock { $0 } }

    /// Grows with each write of the keyring file.
    package var revision: Int64 { opened.withLock { $0.revision } }

    /// The generation that new resources use.
    package var currentGeneration: Int { opened.withLock { $0.current } }

    /// What every token is made with: raising it revokes them all.
    package var tokenEpoch: Int64 { opened.withLock { $0.tokenEpoch } }

    /// The generations that can still open something, in ascending order.
    package var activeGenerations: [Int] { keys.generations.keys.sorted() }

    /// The generations in ascending order, but for those in ``foldedGenerations``.
    package var generationRecords: [GenerationRecord] { keys.records }

    /// Generations that were retired long ago, in ascending order.
    package var foldedGenerations: [ClosedRange<Int>] { keys.folded }

    /// The numbers of the keys that name resources, in ascending order: one, or two while they are changed.
    package var locators: [Int] { keys.locators.keys.sorted() }

    /// The locator that a new vault uses: the newest.
    package var newestLocator: Int { keys.locators.keys.max() ?? 0 }

    init(document: KeyringDocument, rootKey: SharedKey, unlockedBy slot: KeyringDocument.Slot) throws {
        vaultID = document.vaultID
        unlockedBy = slot.method
        unlockedSlot = slot.number
        opened = Locked(try KeyringKeys(opening: document, rootKey: rootKey))
        proved = Locked([slot.rootKey])
    }

    // MARK: Slots that open

    /// Notes that a secret which was at hand opens a slot.
    func noteProof(of slot: KeyringDocument.Slot) { proved.withLock { _ = $0.insert(slot.rootKey) } }

    /// Whether a slot is known to open.
    func isProved(_ slot: KeyringDocument.Slot) -> Bool { proved.withLock { $0.contains(slot.rootKey) } }

    // MARK: Changing

    /// Changes the keyring: the file first, then, once that is durable, what is read here. Blocks.
    ///
    /// Nothing changes where this throws; a file that could not be made durable may be either of the two.
    ///
    /// - Parameters:
    ///   - read: the file's bytes.
    ///   - write: makes the file's new bytes durable.
    ///   - edit: what changes. The revision is raised here.
    /// - Throws: ``VaultError`` where the file is not this keyring's, or an older one; what `read`, `write` and `edit`
    ///   throw.
    package func change<Result>(
        reading read: () throws -> [UInt8], writing write: ([UInt8]) throws -> Void,
        _ edit: (inout KeyringEdit) throws -> Result
    ) throws -> Result {
        try writing.withLock { _ in
            let root = keys.rootKey
            let document = try KeyringReader.document(in: try read(), authenticatedBy: root.secret)
            guard document.vaultID == vaultID else { throw KeyringReader.tampered }
            guard document.revision >= revision else {
                throw VaultError(
                    .olderKeyring, "the keyring's file is older than what was opened; put the newer one back")
            }
            var editing = KeyringEdit(document: document, rootKey: root)
            let result = try edit(&editing)
            editing.document.revision += 1
            // What does not open again must not be written.
            let (bytes, changed) = try editing.finished()
            try write(bytes)
            // A new root key is sealed for no slot but those that opened.
            if editing.rootKey !== root { for slot in editing.document.slots { noteProof(of: slot) } }
            opened.withLock { $0 = changed }
            return result
        }
    }

    // MARK: Closing

    /// Lets go of every key: from now on it opens, names and changes nothing, and tokens made with it are good nowhere.
    ///
    /// - Throws: ``VaultError`` with code `storage` where the system gives no randomness or memory; then it stays open.
    package func close() throws {
        // What is being read or written would put the keys back.
        followed.withLock { $0 = nil }
        try writing.withLock { _ in try opened.withLock { $0 = try KeyringKeys(closing: $0) } }
    }

    // MARK: Following

    /// From now on takes over what the vault's owner, another process, writes: when a generation is missing here.
    package func follow(reading read: @escaping @Sendable () throws -> [UInt8]) { followed.withLock { $0 = read } }

    /// Takes over a file that another process may have written anew; a new root key opens to those alone who unlock it.
    private func catchUp() {
        // Held until it is done: nothing is taken over after closing.
        followed.withLock { read in
            let root = keys.rootKey
            guard let read, let document = try? KeyringReader.document(in: read(), authenticatedBy: root.secret),
                document.vaultID == vaultID, document.revision > revision,
                let newer = try? KeyringKeys(opening: document, rootKey: root)
            else { return }
            opened.withLock { $0 = newer }
        }
    }

    // MARK: Names

    /// The resource id `R` of a cache key under a locator; nil where the keyring has no such locator.
    package func resourceID(cacheKey: [UInt8], locator: Int) -> ResourceID? {
        guard let key = opened.withLock({ $0.locators[locator] }) else { return nil }
        return ResourceID(bytes: KeyDerivation.value(from: key.secret, .resource, cacheKey))
    }

    /// The part that an identity takes in a cache key, so that two users' bodies never share one.
    package func principal(_ identity: [UInt8], locator: Int) -> [UInt8]? {
        opened.withLock { $0.locators[locator] }.map { KeyDerivation.value(from: $0.secret, .principal, identity) }
    }

    /// The key of the index's own sealed values (`vault.settings`).
    package func indexKey(locator: Int) throws -> SharedKey? {
        if keys.locators[locator] == nil { catchUp() }
        return try keys.locators[locator].map { SharedKey(try KeyDerivation.key(from: $0.secret, .index)) }
    }

    // MARK: Resource keys

    /// Seals a resource key under the wrapping key of a generation: 60 bytes for the index.
    package func wrap(
        _ key: borrowing SecretKey, resource: ResourceID, number: Int, generation: Int
    ) throws -> [UInt8]? {
        guard let wrapping = try wrappingKey(resource, generation) else { return nil }
        guard let data = Self.wrapData(resource, number, generation) else { return nil }
        return try SealedValue.seal(key, key: wrapping.secret, associatedData: data)
    }

    /// Opens a wrapped resource key.
    ///
    /// - Returns: nil where the generation is not in this keyring, or the bytes are not this key wrapped.
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

    /// What a wrapped key is bound to; nil for numbers that there are none of: two keys are never bound to the same.
    private static func wrapData(_ resource: ResourceID, _ number: Int, _ generation: Int) -> [UInt8]? {
        guard let number = UInt32(exactly: number), let generation = UInt32(exactly: generation) else { return nil }
        return Array("resourceKey".utf8) + [0] + Array("wrapped".utf8) + [0] + resource.bytes
            + LittleEndian.bytes(number) + LittleEndian.bytes(generation)
    }

    // MARK: Tokens

    /// Authenticates a message under the token key: capabilities and the admin token.
    package func token(_ purpose: Purpose, _ message: [UInt8]) -> [UInt8] {
        KeyDerivation.value(from: opened.withLock { $0.tokenKey }.secret, purpose, message)
    }
}

/// What an unlocked keyring has open: each key that the root key opens, and what is said of them.
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
    /// The generations that are not retired.
    private(set) var generations: [Int: SharedKey]
    /// Generations that were retired long ago, in ascending order.
    let folded: [ClosedRange<Int>]
    /// What is said of every other generation, in ascending order.
    let records: [GenerationRecord]

    /// What is left of a keyring's keys once it was closed: none that opens or names anything. What still signs does so with
    /// a key that is nobody's.
    init(closing keys: KeyringKeys) throws {
        let nobodys = SharedKey(try SecureRandom.key("closed keyring"))
        self = keys
        (rootKey, tokenKey, receiptSeed) = (nobodys, nobodys, nobodys)
        (locators, generations) = ([:], [:])
    }

    /// Opens every key of a document.
    ///
    /// - Throws: ``VaultError`` with code `tamperedKeyring` where one does not open.
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
    }
}

/// What a keyring says of a generation beside its key.
package struct GenerationRecord: Hashable, Sendable {
    package let number: Int
    /// Seconds since 1970.
    package let created: Int64
    /// Whether its key is destroyed.
    package let isRetired: Bool
    /// How many backup files of the keyring hold its key.
    package let backups: Int

    init(_ generation: KeyringDocument.Generation) {
        number = Int(generation.number)
        created = generation.created
        isRetired = generation.key == nil
        backups = Int(generation.backups)
    }
}
