import Foundation

extension FileHandle {
    /// Returns the bytes that are available, after waiting for the first; empty at the end of the stream.
    ///
    /// `availableData` ends the process if a signal interrupts it.
    package func nextBytes() -> [UInt8] {
        let descriptor = fileDescriptor
        return unsafe [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
            count = unsafe receive(from: descriptor, into: buffer)
        }
    }

    /// Returns all bytes up to the end of the stream.
    package func allBytes() -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let more = nextBytes()
            if more.isEmpty { return bytes }
            bytes += more
        }
    }
}

/// Reads available bytes, and retries if a signal interrupts the read. Returns their number, 0 at the end.
private func receive(from descriptor: Int32, into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
    while true {
        let count = unsafe read(descriptor, buffer.baseAddress, buffer.count)
        if count >= 0 { return count }
        if errno != EINTR { return 0 }
    }
}
