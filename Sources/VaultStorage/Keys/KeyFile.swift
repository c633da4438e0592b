package import VaultCrypto
import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Reads and creates files that hold a secret that unlocks a keyring.
package enum KeyFile {
    /// Reads a key file: a regular file of exactly 32 bytes that only its owner can read, unless `allowLoose` is set.
    ///
    /// - Throws: ``VaultError`` with code `looseKeyFile` if the file's size, mode, owner or kind is wrong, or
    ///   `wrongKey` if there is no such file.
    package static func readKey(_ path: String, allowLoose: Bool) throws -> SecretKey {
        try key(in: try open(path, allowLoose: allowLoose, what: "key file"), path, "key file")
    }

    /// Reads a credential that the service manager provides: a regular file of exactly 32 bytes.
    ///
    /// It must be readable only by its owner and by users to whom the system has granted access.
    ///
    /// - Throws: the same errors as ``readKey(_:allowLoose:)``.
    package static func readCredential(_ path: String) throws -> SecretKey {
        guard let descriptor = try PrivateFile.open(path, kept: .bySystem, what: "credential") else {
            throw VaultError(
                .wrongKey, "no credential at \(path); name one that the service's unit loads")
        }
        return try key(in: descriptor, path, "credential")
    }

    private static func key(
        in descriptor: borrowing FileDescriptor, _ path: String, _ what: String
    ) throws -> SecretKey {
        let key = try unsafe SecretKey { buffer in
            guard try unsafe read(descriptor, into: buffer) == buffer.count else { throw wrongSize(path, what) }
        }
        let more = try unsafe withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) {
            unsafe try read(descriptor, into: $0)
        }
        guard more == 0 else { throw wrongSize(path, what) }
        return key
    }

    /// Reads a passphrase file of at most 4095 bytes into locked memory.
    ///
    /// - Parameter secret: what messages call the contents of the file.
    package static func readPassphrase(
        _ path: String, allowLoose: Bool, secret: String = "passphrase"
    ) throws -> UnlockSecret {
        let descriptor = try open(path, allowLoose: allowLoose, what: "\(secret) file")
        let bytes = try unsafe SecretBytes(capacity: 4096) { buffer in
            let count = try unsafe read(descriptor, into: buffer)
            guard count < buffer.count else {
                throw VaultError(
                    .looseKeyFile, "the \(secret) file \(path) is too large for a \(secret); name the right file")
            }
            return count
        }
        return try .passphrase(normalizing: bytes)
    }

    /// Creates a key file with a fresh key and mode 0600. It never replaces an existing file.
    ///
    /// The file gets its final name only once it is complete, so that an interrupted run leaves no key file.
    package static func make(_ path: String, fileSystem: any FileSystem = PosixFileSystem()) throws {
        let key = try SecureRandom.key("key file")
        let temporary = path + "." + Hex.encode(try SecureRandom.bytes(8, "file name")) + ".part"
        do throws(FileFailure) {
            try fill(try fileSystem.create(temporary), with: key, temporary, fileSystem)
            do throws(FileFailure) {
                try fileSystem.move(temporary, toUnused: path)
            } catch {
                try? fileSystem.remove(temporary)
                throw error
            }
            do throws(FileFailure) {
                try fileSystem.synchronizeDirectory(PosixFileSystem.folder(of: path))
            } catch {
                // No keyring uses the key yet, so the file can be removed. A name that is not durable may be lost, and
                // a keyring that needs the key could then no longer be unlocked.
                try? fileSystem.remove(path)
                throw error
            }
        } catch {
            throw error.vaultError("the key file \(path) cannot be created")
        }
    }

    private static func fill(
        _ file: any StoredFile, with key: borrowing SecretKey, _ path: String, _ fileSystem: any FileSystem
    ) throws(FileFailure) {
        do throws(FileFailure) {
            try unsafe key.withBytes { bytes throws(FileFailure) in
                // The pointer leads to the key's own 32 bytes, which are lent for the duration of the call.
                try unsafe file.write(UnsafeRawBufferPointer(start: bytes, count: SecretKey.byteCount), at: 0)
            }
            try file.synchronize()
        } catch {
            // An incomplete key file is useless. A failure to remove it is ignored, because the caller needs the first
            // failure.
            try? fileSystem.remove(path)
            throw error
        }
    }

    private static func open(_ path: String, allowLoose: Bool, what: String) throws -> FileDescriptor {
        guard let descriptor = try PrivateFile.open(path, kept: allowLoose ? .loosely : .byOwner, what: what) else {
            throw VaultError(.wrongKey, "no \(what) at \(path); name the one that opens the keyring")
        }
        return descriptor
    }

    private static func read(
        _ descriptor: borrowing FileDescriptor, into buffer: UnsafeMutableRawBufferPointer
    ) throws -> Int {
        do throws(FileFailure) {
            return try unsafe descriptor.read(into: buffer)
        } catch {
            throw error.vaultError("a key file cannot be read")
        }
    }

    private static func wrongSize(_ path: String, _ what: String) -> VaultError {
        VaultError(.looseKeyFile, "the \(what) \(path) does not have exactly 32 bytes; name the right file")
    }
}

/// Opens and reads regular files that hold a secret and that only their owner can read.
package enum PrivateFile {
    /// The users who may be able to read a file.
    enum FilePermissions {
        /// Its owner only.
        case byOwner
        /// Its owner, and users to whom the system granted access.
        ///
        /// systemd grants this access with an access control list, whose mask takes the place of the group's permission
        /// bits.
        case bySystem
        /// Any user.
        case loosely

        /// The mode bits that must not be set.
        fileprivate var forbidden: mode_t {
            switch self {
            case .byOwner: 0o077
            case .bySystem: 0o027
            case .loosely: 0
            }
        }

        /// The remedy if one of these bits is set.
        fileprivate var remedy: String {
            self == .bySystem
                ? "have the service manager load it, or name a key file"
                : "run chmod 600 on it, or allow loose key files"
        }

        fileprivate var hint: VaultError.Hint? { self == .bySystem ? nil : .allowLooseFile }

        /// The remedy if the file belongs to another user.
        fileprivate var ownerRemedy: String {
            self == .bySystem
                ? "have the service manager load it, or name a key file"
                : "run chown on it, or allow loose key files"
        }
    }

    /// Returns the error for a regular file that is refused; nil if the file is accepted.
    ///
    /// Files that belong to root are accepted, because root can read all files anyway.
    static func refusal(
        mode: mode_t, owner: uid_t, user: uid_t, kept keeping: FilePermissions, _ what: String, _ path: String
    ) -> VaultError? {
        guard mode & keeping.forbidden == 0 else {
            return VaultError(
                .looseKeyFile, "others can read the \(what) \(path); \(keeping.remedy)",
                hint: keeping.hint)
        }
        guard keeping == .loosely || [user, 0].contains(owner) else {
            return VaultError(
                .looseKeyFile,
                "the \(what) \(path) belongs to another user, who can read and change it; \(keeping.ownerRemedy)",
                hint: keeping.hint)
        }
        return nil
    }

    /// Opens a file for reading; returns nil if there is no such file.
    ///
    /// - Parameter what: what messages call the file, such as `key file`.
    /// - Throws: ``VaultError`` with code `looseKeyFile` if the file's mode or kind is wrong, or if it belongs to
    ///   another user.
    static func open(_ path: String, kept keeping: FilePermissions, what: String) throws -> FileDescriptor? {
        let descriptor: FileDescriptor
        do throws(FileFailure) {
            // Opened nonblocking, so that a pipe in place of the file cannot make this process hang.
            descriptor = try FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK)
        } catch {
            guard error.kind != .symbolicLink else {
                throw VaultError(
                    .looseKeyFile, "the \(what) \(path) is a symbolic link; name the file that it points to")
            }
            guard error.kind == .notFound else { throw error.vaultError("the \(what) \(path) cannot be opened") }
            return nil
        }
        var status = stat()
        guard unsafe fstat(descriptor.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw VaultError(.looseKeyFile, "the \(what) \(path) is not a regular file; name another")
        }
        let (mode, owner) = (status.st_mode, status.st_uid)
        if let error = refusal(mode: mode, owner: owner, user: geteuid(), kept: keeping, what, path) { throw error }
        return descriptor
    }

    /// Reads at most `most` bytes of a file, plus one more byte if the file is longer.
    ///
    /// - Throws: ``VaultError`` with code `looseKeyFile` if the file's mode, owner or kind is wrong, or
    ///   `invalidArgument` if there is no such file.
    package static func read(_ path: String, allowLoose: Bool, what: String, most: Int) throws -> [UInt8] {
        guard let descriptor = try open(path, kept: allowLoose ? .loosely : .byOwner, what: what) else {
            throw VaultError(.invalidArgument, "no \(what) at \(path); name an existing file")
        }
        do {
            var bytes = [UInt8](repeating: 0, count: most + 1)
            let count = try unsafe bytes.withUnsafeMutableBytes { try unsafe descriptor.read(into: $0) }
            return Array(bytes.prefix(count))
        } catch let failure as FileFailure {
            throw failure.vaultError("the \(what) \(path) cannot be read")
        }
    }
}
