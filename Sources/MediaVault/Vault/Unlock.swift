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

/// A passphrase in locked memory, wiped when it is forgotten, and at the latest when the last reference goes.
public final class Passphrase: Sendable {
    /// Nil once it is forgotten.
    private let bytes: Locked<SecretBytes?>

    /// Lets `fill` write the passphrase, UTF-8, straight into locked memory of `capacity` bytes, and keeps as many
    /// bytes as it says. One line end at the end is dropped when it is used.
    ///
    /// - Throws: what `fill` throws; ``VaultError`` with code `storage` where there is no memory.
    public init(capacity: Int = 1024, filledBy fill: (UnsafeMutableRawBufferPointer) throws -> Int) throws {
        // The buffer is lent for the call.
        bytes = Locked(try unsafe SecretBytes(capacity: capacity, filledBy: fill))
    }

    /// Takes bytes that are in ordinary memory already.
    public convenience init(copying typed: [UInt8]) throws {
        try unsafe self.init(capacity: max(1, typed.count)) { buffer in
            unsafe buffer.copyBytes(from: typed)
            return typed.count
        }
    }

    /// Wipes it. What it has opened stays open; it opens nothing any more.
    public func forget() { bytes.withLock { $0 = nil } }

    func secret() throws -> UnlockSecret {
        let copy = try bytes.withLock { bytes -> SecretBytes in
            switch bytes {
            case .some(let kept): return try Self.copy(kept)
            case nil: throw VaultError(.wrongKey, "the passphrase was forgotten; ask for it again")
            }
        }
        return try .passphrase(normalizing: copy)
    }

    private static func copy(_ bytes: borrowing SecretBytes) throws -> SecretBytes {
        try unsafe bytes.withBytes { source in
            try unsafe SecretBytes(capacity: max(1, source.count)) { buffer in
                unsafe buffer.copyMemory(from: source)
                return source.count
            }
        }
    }
}
