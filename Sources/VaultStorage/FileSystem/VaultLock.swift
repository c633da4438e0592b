import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The right to change a vault: `flock(LOCK_EX)` on its `lock` file, held until this value goes.
///
/// The owner writes its process number into the file, so that a second one can name it.
package struct VaultLock: ~Copyable, Sendable {
    private let descriptor: FileDescriptor

    /// Takes the lock.
    ///
    /// - Throws: ``VaultError`` with code `owned`, naming the owner's process, where somebody has it.
    package init(folder: String) throws {
        let path = folder + "/lock"
        let descriptor: FileDescriptor
        do throws(FileFailure) {
            descriptor = try FileDescriptor(opening: path, O_RDWR | O_CREAT)
        } catch {
            throw error.vaultError("the vault's lock cannot be opened")
        }
        let number = descriptor.number
        guard FileDescriptor.retrying({ flock(number, LOCK_EX | LOCK_NB) }) == 0 else { throw Self.refusal(number) }
        let text = Array("\(getpid())\n".utf8)
        self.descriptor = descriptor
        // The number is a courtesy to the next program: that it could not be written hurts nobody.
        _ = ftruncate(number, 0)
        _ = unsafe text.withUnsafeBytes { unsafe pwrite(number, $0.baseAddress, $0.count, 0) }
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
    deinit { _ = flock(descriptor.number, LOCK_UN) }

    private static func owner(_ number: Int32) -> Int32? {
        var text = Array(repeating: UInt8(0), count: 16)
        let count = unsafe text.withUnsafeMutableBytes { unsafe pread(number, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { return nil }
        return Int32(String(decoding: text[..<count], as: UTF8.self).filter(\.isNumber))
    }
}
