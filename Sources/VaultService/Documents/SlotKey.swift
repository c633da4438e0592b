import Foundation
package import MediaVault

/// The secret that unlocks a keyring slot, as it is passed to the vault's owner.
package enum SlotKey: Sendable {
    case unlock(Unlock)
    /// A credential that the owner's own unit loads, identified by its name.
    case credential(CredentialName)

    /// Whether another process of the same user can read the secret, either from a file or from the credentials of its
    /// own unit.
    package var isFoundByOthers: Bool {
        switch self {
        case .unlock(.keyFile), .unlock(.passphraseFile), .unlock(.credential), .credential: true
        case .unlock(.passphrase), .unlock(.key), .unlock(.keyCommand): false
        }
    }

    /// Whether the key is only a credential name, which refers to a different file in each unit.
    package var isCredentialName: Bool {
        if case .credential = self { true } else { false }
    }

    /// The error for a typed passphrase or a key command's output. Neither can be passed to a service.
    package static let unfound = VaultError(
        .invalidArgument,
        "a running service reads a slot's secret from a file or from a credential of its unit; name one, or stop "
            + "the service and try again", hint: .passSecret)

    /// The unlock method to pass to the library. It is valid only in the process that reads the secret.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if this process has no credentials.
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

/// The name of a credential that the service manager passes to a unit (systemd: `LoadCredentialEncrypted=`).
package struct CredentialName: Hashable, Sendable {
    /// The environment variable that contains the path of the unit's credential folder.
    package static let folderVariable = "CREDENTIALS_DIRECTORY"
    /// The name of the default credential.
    package static let standard = CredentialName(unchecked: "mediavault.key")

    let text: String

    /// - Throws: ``VaultError`` with code `invalidArgument` if the text is not a valid file name.
    package init(_ text: String) throws {
        guard !text.isEmpty, text != ".", text != "..", text.utf8.count <= 255, !text.contains("/") else {
            throw VaultError(.invalidArgument, "a credential must be a name, not a path; use one that the unit loads")
        }
        self.text = text
    }

    private init(unchecked text: String) { self.text = text }

    /// Returns the absolute path of the credential's file.
    ///
    /// - Parameter folder: the value of ``folderVariable`` in the process that reads the file.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the folder is not an absolute path.
    package func path(in folder: String?) throws -> String {
        guard let folder, folder.hasPrefix("/") else {
            throw VaultError(
                .invalidArgument,
                "the process that opens the keyring here has no credentials: \(Self.folderVariable) is not set; "
                    + "run it in a unit that loads \(text)")
        }
        return folder + "/" + text
    }
}
