import VaultCrypto
import VaultModel
import VaultStorage

/// What opens a keyring.
public enum Unlock: Sendable {
    /// A file of exactly 32 raw bytes that nobody else may read, unless `allowLoose`.
    case keyFile(path: String, allowLoose: Bool = false)
    /// A file whose first line is a passphrase.
    case passphraseFile(path: String, allowLoose: Bool = false)
    /// A passphrase that somebody typed.
    case passphrase(Passphrase)

    /// Reads the secret. Blocks.
    func secret() throws -> UnlockSecret {
        switch self {
        case .keyFile(let path, let allowLoose): .key(try KeyFile.readKey(path, allowLoose: allowLoose))
        case .passphraseFile(let path, let allowLoose): try KeyFile.readPassphrase(path, allowLoose: allowLoose)
        case .passphrase(let passphrase): try passphrase.secret()
        }
    }

    /// How the slot for it is named in the keyring.
    var method: UnlockMethod {
        switch self {
        case .keyFile: .keyFile
        case .passphraseFile, .passphrase: .passphrase
        }
    }

    /// The file the secret rests in, where it rests in one.
    var path: String? {
        switch self {
        case .keyFile(let path, _), .passphraseFile(let path, _): path
        case .passphrase: nil
        }
    }
}
