import MediaVault

/// The name of a credential that the service manager lends the processes of a unit (systemd: `LoadCredentialEncrypted=`).
package struct CredentialName: Hashable, Sendable {
    /// The variable in which the service manager says where it has put them.
    package static let folderVariable = "CREDENTIALS_DIRECTORY"
    /// The name where none is said.
    package static let standard = CredentialName(unchecked: "mediavault.key")

    let text: String

    /// - Throws: ``VaultError`` with code `invalidArgument` where no file has such a name.
    package init(_ text: String) throws {
        guard !text.isEmpty, text != ".", text != "..", text.utf8.count <= 255, !text.contains("/") else {
            throw VaultError(.invalidArgument, "a credential has a name, and no path; name one that the unit loads")
        }
        self.text = text
    }

    private init(unchecked text: String) { self.text = text }

    /// The absolute path of its file.
    ///
    /// - Parameter folder: what ``folderVariable`` says to the process that reads it.
    /// - Throws: ``VaultError`` with code `invalidArgument` where no service manager has lent any.
    package func path(in folder: String?) throws -> String {
        guard let folder, folder.hasPrefix("/") else {
            throw VaultError(
                .invalidArgument,
                "whoever opens the keyring here was lent no credentials: \(Self.folderVariable) is not set; "
                    + "run it in a unit that loads \(text)")
        }
        return folder + "/" + text
    }
}
