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
        let nobodys = SharedKey(try Fresh.key("closed keyring"))
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
