import VaultCrypto
import VaultModel
import VaultStorage

/// What opens a keyring.
public enum Unlock: Sendable {
    /// A file of exactly 32 raw bytes that nobody else may read, unless `allowLoose`.
    case keyFile(path: String, allowLoose: Bool = false)
    /// A file that holds a passphrase and at most one line end after it.
    case passphraseFile(path: String, allowLoose: Bool = false)
    /// A passphrase that somebody typed.
    case passphrase(Passphrase)
    /// A shell command that prints the key: 32 raw bytes, 64 hex digits or 44 base64 characters.
    case keyCommand(String)
    /// A credential that the service manager lends this process: a file of exactly 32 raw bytes, by its absolute path in
    /// `$CREDENTIALS_DIRECTORY`.
    case credential(path: String)

    /// Reads the secret. Blocks.
    func secret() throws -> UnlockSecret {
        switch self {
        case .keyFile(let path, let allowLoose): .key(try KeyFile.readKey(path, allowLoose: allowLoose))
        case .passphraseFile(let path, let allowLoose): try KeyFile.readPassphrase(path, allowLoose: allowLoose)
        case .passphrase(let passphrase): try passphrase.secret()
        case .keyCommand(let command): .key(try KeyCommand.key(command))
        case .credential(let path): .key(try KeyFile.readCredential(path))
        }
    }

    /// Wipes a passphrase that somebody typed: what it has opened stays open. The other ways hold no secret.
    public func forget() {
        if case .passphrase(let passphrase) = self { passphrase.forget() }
    }

    /// How the slot for it is named in the keyring.
    var method: UnlockMethod {
        switch self {
        case .keyFile: .keyFile
        case .passphraseFile, .passphrase: .passphrase
        case .keyCommand: .command
        case .credential: .credential
        }
    }

    /// The file the secret rests in, where it rests in one.
    var path: String? {
        switch self {
        case .keyFile(let path, _), .passphraseFile(let path, _), .credential(let path): path
        case .passphrase, .keyCommand: nil
        }
    }
}
