extension VaultStore {
    /// Changes the vault's settings.
    package func changeSettings(_ change: (inout VaultSettings) throws -> Void) throws {
        try withDiskRoom(orReserve: true) { try index.changeSettings(change) }
        noteChange()
    }
}
