import VaultCrypto
import VaultModel

/// What a resource's id is the keyed hash of.
enum CacheKey {
    /// The caller's own id, else the canonical URL; where the URL carries credentials, a part of theirs follows, so that
    /// two users' bodies never share a resource.
    static func bytes(for reference: MediaReference, keyring: Keyring, locator: Int) throws -> [UInt8] {
        let named = Array((reference.contentID.map { "content-id:\($0)" } ?? reference.url.canonical).utf8)
        guard let userInfo = reference.url.userInfo else { return named }
        // As it is sent: a user without a password has an empty one.
        let credentials = userInfo.contains(":") ? userInfo : userInfo + ":"
        let identity = Array("Basic \(Base64.encode(Array(credentials.utf8)))".utf8)
        guard let principal = keyring.principal(identity, locator: locator) else {
            throw VaultError(
                .foreignKeyring, "the keyring lacks the key that names this vault's resources; use the newer one")
        }
        return named + [0] + principal
    }
}
