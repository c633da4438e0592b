import VaultCrypto
import VaultModel
import VaultStorage

/// Names the resources of a vault, by its key policy and the principals that resources were stored for.
final class ResourceNames: Sendable {
    private let store: VaultStore
    private let pool: BlockingPool
    private let known: Locked<Known>

    private struct Known {
        var policy = KeyPolicy()
        var principals: [[UInt8]] = []
        /// Whether there are more principals than the settings can list.
        var isIncomplete: Bool { principals.count > VaultSettings.maxPrincipals }
    }

    /// Reads the settings. Blocks.
    init(store: VaultStore, pool: BlockingPool) {
        self.store = store
        self.pool = pool
        var known = Known()
        // Invalid settings are reported when they are requested; what is held can still be played by its plain name.
        if let settings = try? store.index.settings() {
            known.policy = (try? settings.keyPolicy()) ?? KeyPolicy()
            known.principals = settings.principals
        }
        self.known = Locked(known)
    }

    /// Returns the id of a settled reference, and the cache key that the id is a hash of.
    func name(_ reference: MediaReference) async throws -> (id: ResourceID, key: CacheKey) {
        let (keyring, locator, principals) = (store.keyring, store.index.locator, known.withLock { $0.principals })
        if let name = try cachedName(reference) { return name }
        let plain = try key(of: reference)
        return try await pool.run { [store] in
            let key = try Self.onlyPrincipalKey(of: principals, having: plain, in: store) ?? plain
            return (try key.id(keyring: keyring, locator: locator), key)
        }
    }

    /// Does the same without reading the index; returns nil if the index is needed.
    func cachedName(_ reference: MediaReference) throws -> (id: ResourceID, key: CacheKey)? {
        let key = try key(of: reference)
        let isPlain = known.withLock { $0.principals.isEmpty || $0.isIncomplete }
        guard isPlain || reference.excludesPrincipals || key.principal != nil else { return nil }
        return (try key.id(keyring: store.keyring, locator: store.index.locator), key)
    }

    /// Returns every key that a settled reference may have been stored under, whether it is held or not.
    func allKeys(of reference: MediaReference) throws -> [CacheKey] {
        let plain = try key(of: reference)
        guard plain.principal == nil else { return [plain] }
        return [plain] + known.withLock { $0.principals }.map { CacheKey(name: plain.name, principal: $0) }
    }

    private func key(of reference: MediaReference) throws -> CacheKey {
        try CacheKey(
            reference, policy: known.withLock { $0.policy }, keyring: store.keyring, locator: store.index.locator)
    }

    /// Returns the principal's key for a plain name if the resource is stored for exactly one principal.
    ///
    /// Returns nil if it is stored under the plain name itself, or for several principals: then the plain name refers
    /// to none of them.
    private static func onlyPrincipalKey(
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

    /// Records a principal that a resource is about to be stored for. Blocks.
    func note(_ principal: [UInt8]) throws {
        guard known.withLock({ !$0.principals.contains(principal) && !$0.isIncomplete }) else { return }
        try store.changeSettings { $0.note(principal: principal) }
        let principals = try store.index.settings().principals
        known.withLock { $0.principals = principals }
    }

    /// Reads the principals again: a new locator gives them other names.
    func reload() async throws {
        let principals = try await pool.run { [store] in try store.index.settings().principals }
        known.withLock { $0.principals = principals }
    }

    // MARK: Policy

    /// Whether manifests and redirects may lead to a host even if it is private.
    func allows(host: String) -> Bool { known.withLock { $0.policy.allows(host: host) } }

    /// Whether the entity tags of a host are to be ignored.
    func ignoresEntityTag(of host: String) -> Bool { known.withLock { $0.policy.ignoresEntityTag(of: host) } }

    /// Whether the content of a host never changes under the same URL.
    func isImmutable(host: String) -> Bool { known.withLock { $0.policy.isImmutable(host: host) } }

    /// Returns the key policy in force.
    ///
    /// - Throws: ``VaultError`` if the settings fail authentication.
    func policy() async throws -> KeyPolicy {
        try await pool.run { [store] in try store.index.settings().keyPolicy() }
    }

    /// Switches to a key policy that has been written to the settings.
    func use(_ policy: KeyPolicy) { known.withLock { $0.policy = policy } }
}

/// The input of the keyed hash that is a resource's id: a name, and a principal if the origin was sent credentials.
struct CacheKey: Hashable {
    /// The caller's content id, else the URL as the key policy names it.
    let name: [UInt8]
    /// 32 bytes that stand for the user as whom the origin was asked.
    var principal: [UInt8]?

    var bytes: [UInt8] { name + (principal.map { [0] + $0 } ?? []) }

    init(name: [UInt8], principal: [UInt8]?) {
        self.name = name
        self.principal = principal
    }

    /// Parses the key that the index stores for a resource. A name never contains a zero byte.
    init(bytes: [UInt8]) {
        let end = bytes.firstIndex(of: 0) ?? bytes.endIndex
        self.init(name: Array(bytes[..<end]), principal: end < bytes.endIndex ? Array(bytes[(end + 1)...]) : nil)
    }

    /// Computes the key of a checked reference.
    ///
    /// - Throws: ``VaultError`` with code `foreignKeyring` if the keyring lacks the locator.
    init(_ reference: MediaReference, policy: KeyPolicy, keyring: Keyring, locator: Int) throws {
        name = Array((reference.contentID.map { "content-id:\($0)" } ?? policy.name(of: reference.url)).utf8)
        if let identity = Identity.bytes(of: reference.fields) {
            guard let known = keyring.principal(identity, locator: locator) else { throw Self.foreign }
            principal = known
        } else {
            principal = reference.principal
        }
    }

    /// Returns the id of the resource with this key.
    func id(keyring: Keyring, locator: Int) throws -> ResourceID {
        guard let id = keyring.resourceID(cacheKey: bytes, locator: locator) else { throw Self.foreign }
        return id
    }

    private static var foreign: VaultError {
        VaultError(
            .foreignKeyring, "the keyring lacks the key that names this vault's resources; use the newer keyring")
    }
}

/// Determines which request fields identify the sender.
enum Identity {
    /// Returns bytes that identify the sender of these fields; nil if no field does.
    ///
    /// Every field that may identify a sender counts. If `Authorization` or `Cookie` is the only one, its value alone
    /// is used.
    static func bytes(of fields: HeaderFields) -> [UInt8]? {
        // An unknown field may carry an API key, so two requests that differ in it share nothing.
        let telling = fields.fields.filter { field in !anonymous.contains { $0.isEqualIgnoringCase(field.name) } }
        guard let first = telling.first else { return nil }
        if telling.count == 1, ["Authorization", "Cookie"].contains(where: first.name.isEqualIgnoringCase) {
            return Array(first.value.utf8)
        }
        let lines = telling.map { Array("\($0.name.lowercased()): \($0.value)".utf8) }
        return Array(lines.sorted { $0.lexicographicallyPrecedes($1) }.joined(separator: [UInt8(ascii: "\n")]))
    }

    /// Fields that state how something is requested, not by whom.
    private static let anonymous = [
        "Accept", "Accept-Language", "Cache-Control", "DNT", "Origin", "Pragma", "Referer", "User-Agent",
    ]
}
