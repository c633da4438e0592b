/// Where a vault lies: its folder, and its keyring, which had better lie elsewhere.
public struct VaultPlace: Hashable, Sendable {
    /// The absolute path of the vault's folder.
    public var folder: String
    /// The absolute path of the keyring's file. A copy of the folder without it opens nothing.
    public var keyring: String

    /// Both paths are absolute.
    public init(folder: String, keyring: String) {
        self.folder = folder
        self.keyring = keyring
    }
}
