import VaultCrypto
import VaultModel
import VaultStorage

/// A source of the secret that opens a keyring.
public enum Unlock: Sendable {
    /// A file of exactly 32 raw bytes that other users cannot read, unless `allowLoose` is set.
    case keyFile(path: String, allowLoose: Bool = false)
    /// A file that contains a passphrase, followed by at most one line ending.
    case passphraseFile(path: String, allowLoose: Bool = false)
    /// A typed passphrase.
    case passphrase(Passphrase)
    /// A key that the program supplies, such as one from the platform's keychain. In the keyring, its slot has the
    /// method `command`.
    case key(UnlockKey)
    /// A shell command that prints the key: 32 raw bytes, 64 hex digits or 44 base64 characters.
    case keyCommand(String)
    /// A credential from the service manager: a file of exactly 32 raw bytes, given by its absolute path within
    /// `$CREDENTIALS_DIRECTORY`.
    case credential(path: String)

    /// Reads the secret. Blocks.
    func secret() throws -> UnlockSecret {
        switch self {
        case .keyFile(let path, let allowLoose): .key(try KeyFile.readKey(path, allowLoose: allowLoose))
        case .passphraseFile(let path, let allowLoose): try KeyFile.readPassphrase(path, allowLoose: allowLoose)
        case .passphrase(let passphrase): try passphrase.secret()
        case .key(let key): try key.secret()
        case .keyCommand(let command): .key(try KeyCommand.key(command))
        case .credential(let path): .key(try KeyFile.readCredential(path))
        }
    }

    /// Wipes a typed passphrase, or a key that the program supplied. Keyrings that it has opened stay open. The other
    /// cases contain no secret.
    public func forget() {
        switch self {
        case .passphrase(let passphrase): passphrase.forget()
        case .key(let key): key.forget()
        case .keyFile, .passphraseFile, .keyCommand, .credential: break
        }
    }

    /// Creates the key file for a new slot if the file is missing, and returns whether it was created. Blocks.
    @discardableResult
    func createKeyFile() throws -> Bool {
        let files = PosixFileSystem()
        guard case .keyFile(let path, _) = self, !files.exists(path) else { return false }
        guard path.hasPrefix("/") else {
            throw VaultError(
                .invalidArgument, "the path of the new key file, \(path), is relative; give an absolute one")
        }
        try files.createFolders(above: path)
        try KeyFile.make(path)
        return true
    }

    /// The unlock method that the keyring records for the slot.
    var method: UnlockMethod {
        switch self {
        case .keyFile: .keyFile
        case .passphraseFile, .passphrase: .passphrase
        case .keyCommand, .key: .command
        case .credential: .credential
        }
    }

    /// Returns whether the secret is in a file on the same file system as a vault's folder.
    package func rests(with folder: String) -> Bool { UnlockPlace.rests(path, with: folder) }

    /// The path of the file that contains the secret; nil if there is no file.
    package var path: String? {
        switch self {
        case .keyFile(let path, _), .passphraseFile(let path, _), .credential(let path): path
        case .passphrase, .key, .keyCommand: nil
        }
    }
}

/// A passphrase in locked memory, wiped when it is forgotten or when the last reference is released.
public final class Passphrase: Sendable {
    /// The bytes of the passphrase; nil once it is forgotten.
    private let bytes: Locked<SecretBytes?>

    /// Creates a passphrase from UTF-8 text that `fill` writes directly into locked memory.
    ///
    /// `fill` gets a buffer of `capacity` bytes and returns the number of bytes that it has written. One trailing line
    /// ending is dropped when the passphrase is used.
    ///
    /// - Throws: any error of `fill`, or ``VaultError`` with code `storage` if there is not enough memory.
    public init(capacity: Int = 1024, filledBy fill: (UnsafeMutableRawBufferPointer) throws -> Int) throws {
        // The buffer is valid only during the call.
        bytes = Locked(try unsafe SecretBytes(capacity: capacity, filledBy: fill))
    }

    /// Creates a passphrase from bytes that are already in ordinary memory.
    public convenience init(copying typed: [UInt8]) throws {
        try unsafe self.init(capacity: max(1, typed.count)) { buffer in
            unsafe buffer.copyBytes(from: typed)
            return typed.count
        }
    }

    /// Wipes the passphrase. Keyrings that it has opened stay open, but it cannot open any more.
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
