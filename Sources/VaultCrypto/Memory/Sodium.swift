import CSodium
internal import VaultModel

/// libsodium, started once before anything of it is used.
enum Sodium {
    /// Starts libsodium on first use.
    ///
    /// - Throws: ``VaultError`` with code `storage` where the system's randomness cannot be had (`sodium_init`).
    static func start() throws {
        guard isReady else {
            throw VaultError(.storage, "libsodium could not start: the system gives no randomness; check /dev/urandom")
        }
    }

    // `sodium_malloc` before `sodium_init` ends the process, so every allocation goes through here.
    private static let isReady: Bool = sodium_init() >= 0
}
