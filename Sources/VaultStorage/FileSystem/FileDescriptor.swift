package import VaultModel

#if canImport(Glibc)
package import Glibc
#elseif canImport(Darwin)
package import Darwin
#endif

/// An open descriptor with one owner, closed when the owner lets go.
package struct FileDescriptor: ~Copyable, Sendable {
    package let number: Int32

    /// Opens a path: never through a symbolic link, never inherited by a child process.
    package init(opening path: String, _ flags: Int32, mode: mode_t = 0o600) throws(FileFailure) {
        let number = Self.retrying { unsafe open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode) }
        guard number >= 0 else { throw .last("open") }
        self.number = number
    }

    /// Takes over a descriptor that is open.
    init(owning number: Int32) { self.number = number }

    deinit { close(number) }

    /// Reads from where the descriptor stands until the buffer is full or there is no more; returns the bytes read.
    borrowing func read(into buffer: UnsafeMutableRawBufferPointer) throws(FileFailure) -> Int {
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

    /// Calls again while a signal interrupts.
    static func retrying<Result: SignedInteger>(_ call: () -> Result) -> Result {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }
}

/// What a file operation failed with. It names no file: names of the vault's files say nothing, others are the caller's.
package struct FileFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        case notFound
        case alreadyExists
        case noSpace
        case notPermitted
        case symbolicLink
        case other(Int32)
    }

    package let kind: Kind
    /// What was tried and what the system said.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// The failure that `errno` stands for after the system call named.
    package static func last(_ call: StaticString) -> FileFailure {
        let code = errno
        let kind: Kind =
            switch code {
            case ENOENT, ENOTDIR: .notFound
            case EEXIST: .alreadyExists
            case ENOSPC, EDQUOT, EFBIG: .noSpace
            case EACCES, EPERM, EROFS: .notPermitted
            case ELOOP: .symbolicLink
            default: .other(code)
            }
        return FileFailure(kind, "\(call): \(unsafe String(cString: strerror(code)))")
    }

    /// The failure as the library's callers see it.
    package func vaultError(_ what: String) -> VaultError {
        switch kind {
        case .noSpace: VaultError(.diskFull, "\(what): there is no room left on the disk; make room and try again")
        case .notPermitted: VaultError(.storage, "\(what): not permitted; check its owner and mode, and its folder's")
        case .notFound: VaultError(.storage, "\(what): it is not there, or its folder is not")
        case .other(EISDIR): VaultError(.storage, "\(what): it is a folder")
        case .symbolicLink: VaultError(.storage, "\(what): it is a symbolic link; name the file that it leads to")
        default: VaultError(.storage, "\(what): \(description)")
        }
    }
}

/// The right to change a vault: `flock(LOCK_EX)` on its `lock` file and on its folder, held until this value goes.
///
/// The owner writes its process number into the file, so that a second one can name it. The file can be removed, and another
/// made under its name: the folder is what tells then. Some file systems lock no folder; there the file alone counts.
package struct VaultLock: ~Copyable, Sendable {
    private let descriptor: FileDescriptor
    private let folder: FileDescriptor

    /// Takes the lock.
    ///
    /// - Throws: ``VaultError`` with code `owned`, naming the owner's process, where somebody has it.
    package init(folder path: String) throws {
        let file = try Self.opened(path + "/lock", O_RDWR | O_CREAT)
        // Through a link: the vault may be named by one.
        let folder = try Self.opened(path + "/.", O_RDONLY | O_DIRECTORY)
        let (number, folderNumber) = (file.number, folder.number)
        guard Self.isTaken(number) else { throw Self.refusal(number) }
        guard Self.isTaken(folderNumber) || errno != EWOULDBLOCK else {
            let refusal = Self.refusal(number)
            _ = flock(number, LOCK_UN)
            throw refusal
        }
        let text = Array("\(getpid())\n".utf8)
        descriptor = file
        self.folder = folder
        // The number is a courtesy to the next program: that it could not be written hurts nobody.
        _ = ftruncate(number, 0)
        _ = unsafe text.withUnsafeBytes { unsafe pwrite(number, $0.baseAddress, $0.count, 0) }
    }

    private static func opened(_ path: String, _ flags: Int32) throws -> FileDescriptor {
        do throws(FileFailure) {
            return try FileDescriptor(opening: path, flags)
        } catch {
            throw error.vaultError("the vault's lock cannot be opened")
        }
    }

    private static func isTaken(_ number: Int32) -> Bool {
        FileDescriptor.retrying({ flock(number, LOCK_EX | LOCK_NB) }) == 0
    }

    /// Why `flock` has just refused.
    private static func refusal(_ number: Int32) -> VaultError {
        guard errno == EWOULDBLOCK else {
            return FileFailure.last("flock").vaultError("the vault's lock cannot be taken")
        }
        let owner = owner(number).map { " (process \($0))" } ?? ""
        return VaultError(.owned, "another program\(owner) owns the vault; end it, or wait until it is done")
    }

    // Not by closing alone: a child that is between fork and exec still has the descriptor, and the lock with it.
    deinit {
        _ = flock(folder.number, LOCK_UN)
        _ = flock(descriptor.number, LOCK_UN)
    }

    private static func owner(_ number: Int32) -> Int32? {
        var text = Array(repeating: UInt8(0), count: 16)
        let count = unsafe text.withUnsafeMutableBytes { unsafe pread(number, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { return nil }
        return Int32(String(decoding: text[..<count], as: UTF8.self).filter(\.isNumber))
    }
}

/// Files that SQLite opens by their names, past our own file system.
enum PlainFile {
    /// Requires that a name leads to a plain file itself, where it leads anywhere: SQLite follows links, and waits for a pipe.
    ///
    /// The file is not opened: closing it again would take SQLite's locks off it.
    ///
    /// - Throws: ``VaultError`` with code `storage`.
    static func require(_ path: String) throws {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        let what = "the file \(path) cannot be opened"
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFLNK: throw FileFailure(.symbolicLink, "lstat").vaultError(what)
        default: throw VaultError(.storage, "\(what): it is no plain file; make the index anew with index rebuild")
        }
    }
}
