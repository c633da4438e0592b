import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

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
