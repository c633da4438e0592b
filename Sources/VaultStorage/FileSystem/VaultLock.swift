import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The exclusive right to change a vault: `flock(LOCK_EX)` on its `lock` file and on its folder.
///
/// Both locks are held until this value is released. The owner writes its process id into the file, so that another
/// process can report who owns the vault. If the file is removed and replaced, the lock on the folder still keeps out a
/// second owner. Some file systems cannot lock a folder; on those, only the lock on the file counts.
package struct VaultLock: ~Copyable, Sendable {
    private let descriptor: FileDescriptor
    private let folder: FileDescriptor
    private let identity: FolderIdentity

    /// The folders that this process has locked. The process id in the lock file does not identify a process, because
    /// processes in different containers that share a vault may have the same id.
    private static let own = Locked<Set<FolderIdentity>>([])

    /// Takes the lock.
    ///
    /// - Throws: ``VaultError`` with code `owned` if another process holds the lock, in which case the message names
    ///   that process, or if this process already holds it.
    package init(folder path: String) throws {
        let file = try Self.opened(path + "/lock", O_RDWR | O_CREAT)
        // The `/.` makes the system follow a symbolic link, because the vault's path may be one.
        let folder = try Self.opened(path + "/.", O_RDONLY | O_DIRECTORY)
        do throws(FileFailure) {
            try file.requireRegular()
        } catch {
            throw error.vaultError("the vault's lock cannot be opened")
        }
        let (number, folderNumber) = (file.number, folder.number)
        let identity = FolderIdentity(of: folderNumber)
        guard Self.isTaken(number) else { throw Self.refusal(number, identity) }
        guard Self.isTaken(folderNumber) || errno != EWOULDBLOCK else {
            let refusal = Self.refusal(number, identity)
            _ = flock(number, LOCK_UN)
            throw refusal
        }
        let text = Array("\(getpid())\n".utf8)
        descriptor = file
        self.folder = folder
        self.identity = identity
        Self.own.withLock { _ = $0.insert(identity) }
        // The process id only improves another program's error message, so a failed write does no harm.
        _ = ftruncate(number, 0)
        _ = unsafe text.withUnsafeBytes { unsafe pwrite(number, $0.baseAddress, $0.count, 0) }
    }

    private static func opened(_ path: String, _ flags: Int32) throws -> FileDescriptor {
        do throws(FileFailure) {
            return try FileDescriptor(opening: path, flags | O_NONBLOCK)
        } catch {
            throw error.vaultError("the vault's lock cannot be opened")
        }
    }

    private static func isTaken(_ number: Int32) -> Bool {
        FileDescriptor.retrying({ flock(number, LOCK_EX | LOCK_NB) }) == 0
    }

    /// Returns the error that explains why `flock` has just failed.
    private static func refusal(_ number: Int32, _ identity: FolderIdentity) -> VaultError {
        guard errno == EWOULDBLOCK else {
            return FileFailure.last("flock").vaultError("the vault's lock cannot be taken")
        }
        guard !own.withLock({ $0.contains(identity) }) else {
            return VaultError(.owned, "this process has the vault open already; use that one, or close it first")
        }
        let owner = owner(number).map { " (process \($0))" } ?? ""
        return VaultError(.owned, "another program\(owner) owns the vault; stop it, or wait until it is done")
    }

    // Closing the descriptors is not enough: a child process between fork and exec still holds copies of them, and
    // would keep the locks.
    deinit {
        let identity = identity
        Self.own.withLock { _ = $0.remove(identity) }
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

/// Identifies a folder regardless of its path.
private struct FolderIdentity: Hashable {
    private let device: dev_t
    private let number: ino_t

    init(of descriptor: Int32) {
        var status = stat()
        // `fstat` does not fail for an open folder.
        _ = unsafe fstat(descriptor, &status)
        (device, number) = (status.st_dev, status.st_ino)
    }
}
