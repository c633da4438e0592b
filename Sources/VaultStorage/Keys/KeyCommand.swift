package import VaultCrypto
import VaultModel

#if canImport(Glibc)
import CFile
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A command that prints the unlock key, such as the command of a secret manager.
package enum KeyCommand {
    /// Runs `command` with the shell, and reads the key from its standard output. Blocks until the command ends.
    ///
    /// The output must be 32 raw bytes, 64 hex digits or 44 base64 characters; a newline may follow the digits or
    /// characters. The command shares this process's standard error.
    ///
    /// - Throws: ``VaultError`` with code `wrongKey` if the command fails or prints anything else. The message does not
    ///   repeat the command, which may contain a secret.
    package static func key(_ command: String) throws -> SecretKey {
        let output = try unsafe SecretBytes(capacity: 256) { buffer in try unsafe run(command, into: buffer) }
        return try unsafe output.withBytes { bytes in
            guard let key = try unsafe key(in: bytes) else {
                throw VaultError(
                    .wrongKey,
                    "the key command printed no key; it must print 32 raw bytes, 64 hex digits or 44 base64 characters")
            }
            return key
        }
    }

    private static func key(in bytes: UnsafeRawBufferPointer) throws -> SecretKey? {
        if bytes.count == SecretKey.byteCount { return try unsafe SecretKey(copying: bytes) }
        let hasLineEnd = unsafe bytes.last == 0x0A
        let text = unsafe UnsafeRawBufferPointer(rebasing: bytes.dropLast(hasLineEnd ? 1 : 0))
        if let key = try unsafe SecretText.key(hex: text) { return key }
        return try unsafe SecretText.key(base64: text)
    }

    private static func run(_ command: String, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else {
            throw FileFailure.last("pipe").vaultError("the key command cannot be run")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let reading = FileDescriptor(owning: ends[0])
        let writing = FileDescriptor(owning: ends[1])
        let child = try spawn(command, output: writing.number)
        // Close the writing end here, because a read reaches the end of the output only once no process can write to
        // the pipe any more.
        _ = consume writing
        // Output that cannot be read counts as empty, which is not a key.
        let count = (try? unsafe reading.read(into: buffer)) ?? 0
        // Close the pipe, so that a child that keeps printing fails instead of waiting for this process.
        _ = consume reading
        var status: Int32 = 0
        _ = FileDescriptor.retrying { unsafe waitpid(child, &status, 0) }
        guard status == 0 else { throw VaultError(.wrongKey, "the key command failed; run it by hand to see why") }
        return count
    }

    private static func spawn(_ command: String, output: Int32) throws -> pid_t {
        #if canImport(Glibc)
        var actions = unsafe posix_spawn_file_actions_t()
        #else
        var actions: posix_spawn_file_actions_t?
        #endif
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        #if canImport(Glibc)
        // The command must not inherit any other descriptor that this process has open.
        _ = unsafe cfile_close_from(&actions, STDERR_FILENO + 1)
        #endif
        let arguments = ["/bin/sh", "-c", command]
        // Copies of the arguments, which live until the child has its own.
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { while let pointer = unsafe pointers.popLast() { unsafe free(pointer) } }
        var child: pid_t = 0
        let result = unsafe posix_spawn(&child, "/bin/sh", &actions, nil, &pointers, environ)
        guard result == 0 else {
            throw VaultError(.wrongKey, "the key command cannot be run: \(unsafe String(cString: strerror(result)))")
        }
        return child
    }
}
