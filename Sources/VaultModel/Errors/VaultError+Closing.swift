extension VaultError {
    /// What everybody is told whose vault was closed, or locked, under him.
    package static let vaultClosed = VaultError(
        .closed, "the vault was closed or locked; open it again, or start its service anew")
}
