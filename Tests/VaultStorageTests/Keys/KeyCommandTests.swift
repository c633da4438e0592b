import Foundation
import Testing
import VaultCrypto
import VaultModel
import VaultStorage

@Suite("Key commands")
struct KeyCommandTests {
    /// 32 bytes: `0123456789abcdef` twice.
    private static let text = "0123456789abcdef0123456789abcdef"
    private static let hex = "3031323334353637383961626364656630313233343536373839616263646566"
    private static let base64 = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

    @Test(
        "A command may print a key raw, as hex or as Base64, with at most one line end",
        arguments: ["printf \(text)", "printf \(hex)", "echo \(hex)", "printf \(base64)", "echo \(base64)"])
    func forms(command: String) throws {
        let key = try KeyCommand.key(command)
        let bytes = unsafe key.withBytes { unsafe Array(UnsafeBufferPointer(start: $0, count: SecretKey.byteCount)) }
        #expect(bytes == Array(Self.text.utf8))
    }

    #if os(Linux)
    @Test("A key command inherits no open file descriptor of this process")
    func descriptors() throws {
        // Simulates a library that opens a descriptor without close-on-exec.
        let open = fcntl(STDERR_FILENO, F_DUPFD, 40)
        defer { close(open) }
        try #require(open >= 40 && fcntl(open, F_GETFD) & FD_CLOEXEC == 0)
        // The shell lists its own descriptors; the one that it opens for the listing is below ten.
        let seen = "for n in /proc/self/fd/*; do case ${n##*/} in [0-9]) ;; *) exit 1;; esac; done"
        _ = try KeyCommand.key("\(seen); test ! -e /proc/self/fd/\(open) && printf \(Self.text)")
    }
    #endif

    @Test(
        "A command that fails or prints anything else yields no key",
        arguments: [
            "false", "printf \(text); exit 3", "printf \(text)0", "echo \(text)x", "printf ''", "echo; echo \(hex)",
            "printf %s \(hex)00", "head -c 100000 /dev/zero", "/no/such/command",
        ])
    func refused(command: String) {
        let error = #expect(throws: VaultError.self) { _ = try KeyCommand.key(command) }
        #expect(error?.code == .wrongKey)
        #expect(error?.message.contains(Self.text) == false, "the message must not repeat the output of the command")
    }
}
