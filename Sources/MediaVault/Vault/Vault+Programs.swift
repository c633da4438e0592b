package import VaultModel
import VaultStorage

// Programs that the operator named. The library runs none: the service and the command do.
extension Vault {
    /// Returns the programs that the settings name.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if the settings fail authentication.
    package func programSettings() async throws -> ProgramSettings {
        let store = store
        return try await pool.run { try store.index.settings().programs }
    }
}
