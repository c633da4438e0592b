package import VaultCrypto
import VaultModel

/// Files that hold what unlocks a keyring.
package enum KeyFile {
    /// Reads a key file: exactly 32 raw bytes, a plain file, readable by nobody else unless `allowLoose`.
    ///
    /// - Throws: ``VaultError`` with code `looseKeyFile` where size, mode or kind are wrong, `wrongKey` where there is
    ///   no such file.
    package static func readKey(_ path: String, allowLoose: Bool) throws -> SecretKey {
        try key(in: try open(path, allowLoose: allowLoose, what: "key file"), path, "key file")
    }

    /// Reads a credential of the service manager's: exactly 32 raw bytes, a plain file, readable by none but a user it
    /// was lent to.
    ///
    /// - Throws: as ``readKey(_:allowLoose:)``.
    package static func readCredential(_ path: String) throws -> SecretKey {
        guard let descriptor = try PrivateFile.open(path, kept: .bySystem, what: "credential") else {
            throw VaultError(
                .wrongKey, "there is no credential at \(path); name one that the service's unit loads")
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

    /// Reads a passphrase file, at most 4096 bytes, into locked memory.
    package static func readPassphrase(_ path: String, allowLoose: Bool) throws -> UnlockSecret {
        let descriptor = try open(path, allowLoose: allowLoose, what: "passphrase file")
        let bytes = try unsafe SecretBytes(capacity: 4096) { buffer in
            let count = try unsafe read(descriptor, into: buffer)
            guard count < buffer.count else {
                throw VaultError(
                    .looseKeyFile, "the passphrase file \(path) is larger than a passphrase; name the right file")
            }
            return count
        }
        return try .passphrase(normalizing: bytes)
    }

    /// Makes a key file with a fresh key, 0600; never over one that is there. It gets its name when it is whole: what a
    /// kill cuts off is no key file.
    package static func make(_ path: String, fileSystem: any FileSystem = PosixFileSystem()) throws {
        let key = try Fresh.key("key file")
        let temporary = path + "." + Hex.encode(try Fresh.bytes(8, "file name")) + ".part"
        do throws(FileFailure) {
            try fill(try fileSystem.create(temporary), with: key, temporary, fileSystem)
            do throws(FileFailure) {
                try fileSystem.move(temporary, toFree: path)
            } catch {
                try? fileSystem.remove(temporary)
                throw error
            }
            do throws(FileFailure) {
                try fileSystem.synchronizeDirectory(PosixFileSystem.folder(of: path))
            } catch {
                // Nobody has the key yet, and what is not durable may be gone with the keyring that it opens.
                try? fileSystem.remove(path)
                throw error
            }
        } catch {
            throw error.vaultError("the key file \(path) cannot be made")
        }
    }

    private static func fill(
        _ file: any StoredFile, with key: borrowing SecretKey, _ path: String, _ fileSystem: any FileSystem
    ) throws(FileFailure) {
        do throws(FileFailure) {
            try unsafe key.withBytes { bytes throws(FileFailure) in
                // The key's own 32 bytes, lent for the call.
                try unsafe file.write(UnsafeRawBufferPointer(start: bytes, count: SecretKey.byteCount), at: 0)
            }
            try file.synchronize()
        } catch {
            // Half a key is none. The failure that counts is the one at hand.
            try? fileSystem.remove(path)
            throw error
        }
    }

    private static func open(_ path: String, allowLoose: Bool, what: String) throws -> FileDescriptor {
        guard let descriptor = try PrivateFile.open(path, kept: allowLoose ? .loosely : .byOwner, what: what) else {
            throw VaultError(.wrongKey, "there is no \(what) at \(path); name the one the vault was made with")
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
        VaultError(.looseKeyFile, "the \(what) \(path) does not hold exactly 32 bytes; name the right one")
    }
}
