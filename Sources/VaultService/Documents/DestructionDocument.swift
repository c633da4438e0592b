package import MediaVault

/// What destroying a vault came to.
package struct DestructionDocument: Codable, Sendable {
    package let vault: String
    package let resources: Int
    /// Backup files of the keyring that were counted when they were made.
    package let backups: Int

    package init(_ report: DestructionReport) {
        vault = report.vaultID
        resources = report.resources
        backups = report.backups
    }
}
