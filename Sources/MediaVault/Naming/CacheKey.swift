import VaultCrypto
import VaultModel

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
