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
