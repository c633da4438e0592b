/// What destroying a vault came to.
public struct DestructionReport: Hashable, Codable, Sendable {
    /// The vault's id in hex.
    public let vaultID: String
    /// Resources that there were, those that an attempt before deleted included.
    public let resources: Int
    /// Backup files of the keyring that were counted when they were made: each still opens a copy of the folder.
    public let backups: Int
}
