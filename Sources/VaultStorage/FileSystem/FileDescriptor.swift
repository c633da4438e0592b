package import VaultModel

#if canImport(Glibc)
package import Glibc
#elseif canImport(Darwin)
package import Darwin
#endif

/// An open file descriptor with one owner, closed when the owner releases it.
///
/// The type of the same name in swift-system, by contrast, can be copied and must be closed explicitly.
package struct FileDescriptor: ~Copyable, Sendable {
    package let number: Int32

    /// Opens a path, never through a symbolic link. Child processes do not inherit the descriptor.
    package init(opening path: String, _ flags: Int32, mode: mode_t = 0o600) throws(FileFailure) {
        let number = Self.retrying { unsafe open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode) }
        guard number >= 0 else { throw .last("open") }
        self.number = number
    }

    /// Requires that this is a regular file.
    ///
    /// Reading from a pipe or a device in place of the file could block, or never end.
    borrowing func requireRegular() throws(FileFailure) {
        var status = stat()
        guard unsafe fstat(number, &status) == 0 else { throw .last("fstat") }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw FileFailure(.other(EISDIR), "open: it is a folder")
        default: throw FileFailure(.notRegular, "open: it is not a regular file")
        }
    }

    /// Takes ownership of an open descriptor.
    init(owning number: Int32) { self.number = number }

    deinit { close(number) }

    /// Reads from the current position until the buffer is full or the file ends.
    ///
    /// - Returns: the number of bytes read.
    package borrowing func read(into buffer: UnsafeMutableRawBufferPointer) throws(FileFailure) -> Int {
        var done = 0
        let number = number
        while done < buffer.count, let address = buffer.baseAddress {
            let count = Self.retrying {
                #if canImport(Glibc)
                unsafe Glibc.read(number, address + done, buffer.count - done)
                #else
                unsafe Darwin.read(number, address + done, buffer.count - done)
                #endif
            }
            guard count >= 0 else { throw .last("read") }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Repeats a call for as long as a signal interrupts it (`EINTR`).
    static func retrying<Result: SignedInteger>(_ call: () -> Result) -> Result {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }
}

/// The failure of a file operation.
///
/// It does not name the file, because the names of the vault's own files mean nothing to people, and the caller knows
/// the names of all other files.
package struct FileFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        case notFound
        case alreadyExists
        case noSpace
        case notPermitted
        case readOnly
        case symbolicLink
        /// A pipe, a socket or a device.
        case notRegular
        case other(Int32)
    }

    package let kind: Kind
    /// The call that failed, and the system's error message.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// Returns the failure for the current `errno` after a system call.
    package static func last(_ call: StaticString) -> FileFailure {
        let code = errno
        let kind: Kind =
            switch code {
            case ENOENT, ENOTDIR: .notFound
            case EEXIST: .alreadyExists
            case ENOSPC, EDQUOT, EFBIG: .noSpace
            case EACCES, EPERM: .notPermitted
            case EROFS: .readOnly
            case ELOOP: .symbolicLink
            default: .other(code)
            }
        return FileFailure(kind, "\(call): \(unsafe String(cString: strerror(code)))")
    }

    /// Returns the error that the library's callers get for this failure, with a message that begins with `what`.
    package func vaultError(_ what: String) -> VaultError {
        switch kind {
        case .noSpace: VaultError(.diskFull, "\(what): no space left on the disk; free some space and try again")
        case .notPermitted:
            VaultError(.storage, "\(what): permission denied; check its owner and mode, and those of its folder")
        case .readOnly:
            VaultError(
                .storage, "\(what): its file system is read-only; mount it writable, and try again",
                hint: .writablePath)
        case .notFound: VaultError(.storage, "\(what): it does not exist, or its folder does not")
        case .other(EISDIR): VaultError(.storage, "\(what): it is a folder")
        case .symbolicLink: VaultError(.storage, "\(what): it is a symbolic link; name the file that it points to")
        case .notRegular: VaultError(.storage, "\(what): it is not a regular file; move it away, and try again")
        default: VaultError(.storage, "\(what): \(description)")
        }
    }
}

/// Checks of files that SQLite opens by name, bypassing our ``FileSystem``.
enum RegularFile {
    /// Returns whether a path is a regular file rather than a link to one.
    ///
    /// - Throws: ``VaultError`` with code `storage` if the system cannot examine the path.
    static func exists(_ path: String) throws -> Bool {
        var status = stat()
        if unsafe lstat(path, &status) == 0 { return status.st_mode & S_IFMT == S_IFREG }
        let failure = FileFailure.last("lstat")
        guard failure.kind == .notFound else { throw failure.vaultError("the file \(path) cannot be examined") }
        return false
    }

    /// Requires that a path, if it exists, is a regular file rather than a link to one.
    ///
    /// SQLite follows links, and blocks on a pipe. This check does not open the file, because closing it again would
    /// release SQLite's locks.
    ///
    /// - Throws: ``VaultError`` with code `storage` if it is anything else.
    static func require(_ path: String) throws {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        let what = "the file \(path) cannot be opened"
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFLNK: throw FileFailure(.symbolicLink, "lstat").vaultError(what)
        default: throw VaultError(.storage, "\(what): not a regular file; rebuild the index", hint: .rebuildIndex)
        }
    }
}
