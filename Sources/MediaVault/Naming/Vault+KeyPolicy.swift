import VaultModel
import VaultStorage

extension Vault {
    /// Which URLs name one resource: the vault's setting, the same for the library, the command and the service.
    ///
    /// - Throws: ``VaultError`` with code `integrity` where the settings do not open.
    public func keyPolicy() async throws -> KeyPolicy { try await names.policy() }

    /// Changes which URLs name one resource, for this run and all that follow.
    ///
    /// Readers and downloads that have begun go on as they are. What was stored under a name that no URL has any more is
    /// kept and listed, and is found again when the policy is changed back.
    ///
    /// - Throws: ``VaultError`` where the settings cannot be written; with code `owned` where this is not the owner.
    public func setKeyPolicy(_ policy: KeyPolicy) async throws {
        try await changeSettings(policy: { _ in policy })
    }
}
