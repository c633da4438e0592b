import VaultCrypto
import VaultModel

/// What a resource's id is the keyed hash of.
enum CacheKey {
    /// The canonical URL; where the URL carries credentials, a part of theirs follows, so that two users' bodies never
    /// share a resource.
    static func bytes(for url: MediaURL, keyring: Keyring, locator: Int) throws -> [UInt8] {
        let canonical = Array(url.canonical.utf8)
        guard let userInfo = url.userInfo else { return canonical }
        // As it is sent: a user without a password has an empty one.
        let credentials = userInfo.contains(":") ? userInfo : userInfo + ":"
        let identity = Array("Basic \(Base64.encode(Array(credentials.utf8)))".utf8)
        guard let principal = keyring.principal(identity, locator: locator) else {
            throw VaultError(
                .foreignKeyring, "the keyring lacks the key that names this vault's resources; use the newer one")
        }
        return canonical + [0] + principal
    }
}
