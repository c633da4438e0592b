import Foundation
package import MediaVault

/// What opens a slot of the keyring, as the owner of the vault is told it.
package enum SlotKey: Sendable {
    case unlock(Unlock)
    /// A credential of the owner's own unit, whoever names it.
    case credential(CredentialName)

    /// Whether another process of the same user can be told where it is: it rests in a file, or in that process's unit.
    package var isFoundByOthers: Bool {
        switch self {
        case .unlock(.keyFile), .unlock(.passphraseFile), .unlock(.credential), .credential: true
        case .unlock(.passphrase), .unlock(.keyCommand): false
        }
    }

    /// Whether its name alone is known, which means another file to each unit.
    package var isCredentialName: Bool {
        if case .credential = self { true } else { false }
    }

    /// Why what is typed, or printed by a command, does not reach a service.
    package static let unfound = VaultError(
        .invalidArgument,
        "a running service takes what unlocks a slot from a file or from a credential of its unit: name one with "
            + "--key-file, --passphrase-file or --credential, or end the service and run this again")

    /// What the library takes, in the process that is to read it.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` where this process was lent no credentials.
    package var unlock: Unlock {
        get throws {
            switch self {
            case .unlock(let unlock): unlock
            case .credential(let name):
                .credential(
                    path: try name.path(in: ProcessInfo.processInfo.environment[CredentialName.folderVariable]))
            }
        }
    }
}

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
