import VaultCrypto
import VaultModel
import VaultStorage

/// What names a vault's resources: its key policy, and for whom resources were stored.
final class ResourceNames: Sendable {
    private let store: VaultStore
    private let pool: BlockingPool
    private let known: Locked<Known>

    private struct Known {
        var policy = KeyPolicy()
        var principals: [[UInt8]] = []
        /// Whether there are principals that are not known.
        var isIncomplete: Bool { principals.count > VaultSettings.mostPrincipals }
    }

    /// Reads the settings. Blocks.
    init(store: VaultStore, pool: BlockingPool) {
        self.store = store
        self.pool = pool
        var known = Known()
        // Settings that do not open are told to whoever asks for them; what is held plays by its plain name.
        if let settings = try? store.index.settings() {
            known.policy = (try? settings.keyPolicy()) ?? KeyPolicy()
            known.principals = settings.principals
        }
        self.known = Locked(known)
    }

    /// The id of a reference, which has been settled, and what it is the hash of.
    func name(_ reference: MediaReference) async throws -> (id: ResourceID, key: CacheKey) {
        let (keyring, locator, principals) = (store.keyring, store.index.locator, known.withLock { $0.principals })
        if let name = try nameAtHand(reference) { return name }
        let plain = try key(of: reference)
        return try await pool.run { [store] in
            let key = try Self.onlyOne(of: principals, having: plain, in: store) ?? plain
            return (try key.id(keyring: keyring, locator: locator), key)
        }
    }

    /// The same where the index need not be asked; nil where it must.
    func nameAtHand(_ reference: MediaReference) throws -> (id: ResourceID, key: CacheKey)? {
        let key = try key(of: reference)
        let isPlain = known.withLock { $0.principals.isEmpty || $0.isIncomplete }
        guard isPlain || reference.isNobodys || key.principal != nil else { return nil }
        return (try key.id(keyring: store.keyring, locator: store.index.locator), key)
    }

    /// Every key that a reference, which has been settled, may have been stored under, whether it is held or not.
    func allKeys(of reference: MediaReference) throws -> [CacheKey] {
        let plain = try key(of: reference)
        guard plain.principal == nil else { return [plain] }
        return [plain] + known.withLock { $0.principals }.map { CacheKey(name: plain.name, principal: $0) }
    }

    private func key(of reference: MediaReference) throws -> CacheKey {
        try CacheKey(
            reference, policy: known.withLock { $0.policy }, keyring: store.keyring, locator: store.index.locator)
    }

    /// The key of a resource that a plain name means because it was stored for one principal alone, and not for nobody in
    /// particular. Where there are two the plain name means neither.
    private static func onlyOne(
        of principals: [[UInt8]], having plain: CacheKey, in store: VaultStore
    ) throws -> CacheKey? {
        let (keyring, locator, index) = (store.keyring, store.index.locator, store.index)
        func isStored(_ key: CacheKey) throws -> Bool {
            try index.hasResource(try key.id(keyring: keyring, locator: locator))
        }
        guard try !isStored(plain) else { return nil }
        let found = try principals.map { CacheKey(name: plain.name, principal: $0) }.filter(isStored)
        return found.count == 1 ? found[0] : nil
    }

    /// Remembers for whom a resource is about to be stored. Blocks.
    func note(_ principal: [UInt8]) throws {
        guard known.withLock({ !$0.principals.contains(principal) && !$0.isIncomplete }) else { return }
        try store.changeSettings { $0.note(principal: principal) }
        let principals = try store.index.settings().principals
        known.withLock { $0.principals = principals }
    }

    /// Reads for whom resources were stored anew: they have other names.
    func reload() async throws {
        let principals = try await pool.run { [store] in try store.index.settings().principals }
        known.withLock { $0.principals = principals }
    }

    // MARK: Policy

    /// Whether manifests and redirects may lead to a host though it is private.
    func allows(host: String) -> Bool { known.withLock { $0.policy.allows(host: host) } }

    /// Whether the entity tags of a host say nothing.
    func ignoresEntityTag(of host: String) -> Bool { known.withLock { $0.policy.ignoresEntityTag(of: host) } }

    /// Whether what a host has never changes under one URL.
    func isImmutable(host: String) -> Bool { known.withLock { $0.policy.isImmutable(host: host) } }

    /// The key policy in force.
    ///
    /// - Throws: ``VaultError`` where the settings do not open.
    func policy() async throws -> KeyPolicy {
        try await pool.run { [store] in try store.index.settings().keyPolicy() }
    }

    /// Names by a key policy that the settings have by now.
    func use(_ policy: KeyPolicy) { known.withLock { $0.policy = policy } }
}

/// What a resource's id is the keyed hash of: its name, and for whom it was sent where the origin was told.
struct CacheKey: Hashable {
    /// The caller's own id, else the URL as the key policy names it.
    let name: [UInt8]
    /// 32 bytes that stand for whoever the origin was told is asking.
    var principal: [UInt8]?

    var bytes: [UInt8] { name + (principal.map { [0] + $0 } ?? []) }

    init(name: [UInt8], principal: [UInt8]?) {
        self.name = name
        self.principal = principal
    }

    /// The key that the index keeps of a resource. A name holds no zero byte.
    init(bytes: [UInt8]) {
        let end = bytes.firstIndex(of: 0) ?? bytes.endIndex
        self.init(name: Array(bytes[..<end]), principal: end < bytes.endIndex ? Array(bytes[(end + 1)...]) : nil)
    }

    /// The key of a reference, which has been checked.
    ///
    /// - Throws: ``VaultError`` with code `foreignKeyring` where the locator is not in the keyring.
    init(_ reference: MediaReference, policy: KeyPolicy, keyring: Keyring, locator: Int) throws {
        name = Array((reference.contentID.map { "content-id:\($0)" } ?? policy.name(of: reference.url)).utf8)
        if let identity = Identity.bytes(of: reference.fields) {
            guard let known = keyring.principal(identity, locator: locator) else { throw Self.foreign }
            principal = known
        } else {
            principal = reference.principal
        }
    }

    /// The resource of this key.
    func id(keyring: Keyring, locator: Int) throws -> ResourceID {
        guard let id = keyring.resourceID(cacheKey: bytes, locator: locator) else { throw Self.foreign }
        return id
    }

    private static var foreign: VaultError {
        VaultError(.foreignKeyring, "the keyring lacks the key that names this vault's resources; use the newer one")
    }
}

/// Which request fields say who is asking.
enum Identity {
    /// What identifies the one who sends these fields: every field that might, of one that is alone and is `Authorization`
    /// or `Cookie` the value; nil where none does.
    static func bytes(of fields: HeaderFields) -> [UInt8]? {
        // A field that nobody knows may be a key of somebody's: two that differ in it share nothing.
        let telling = fields.fields.filter { field in !anonymous.contains { $0.isEqualIgnoringCase(field.name) } }
        guard let first = telling.first else { return nil }
        if telling.count == 1, ["Authorization", "Cookie"].contains(where: first.name.isEqualIgnoringCase) {
            return Array(first.value.utf8)
        }
        let lines = telling.map { Array("\($0.name.lowercased()): \($0.value)".utf8) }
        return Array(lines.sorted { $0.lexicographicallyPrecedes($1) }.joined(separator: [UInt8(ascii: "\n")]))
    }

    /// Fields that say how something is asked for, not by whom.
    private static let anonymous = [
        "Accept", "Accept-Language", "Cache-Control", "DNT", "Origin", "Pragma", "Referer", "User-Agent",
    ]
}
