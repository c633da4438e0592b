import CZlib

/// The gzip format (RFC 1952), in which servers often send text.
package enum Gzip {
    /// Why expansion failed.
    package enum Failure: Error {
        case damaged
        /// The expanded data would be larger than the limit.
        case tooLarge
    }

    /// Returns the bytes compressed as much as zlib can; nil if that does not make them smaller.
    package static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        // Both buffers outlive the call, and their lengths are passed with them.
        let smaller = unsafe [UInt8](unsafeUninitializedCapacity: bytes.count + 64) { output, count in
            guard let address = output.baseAddress else { return }
            count = unsafe Int(czlib_gzip(bytes, UInt32(bytes.count), address, UInt32(output.count)))
        }
        return smaller.isEmpty || smaller.count >= bytes.count ? nil : smaller
    }

    /// Returns whether the bytes begin with the gzip format's magic number.
    package static func begins(_ bytes: [UInt8]) -> Bool { bytes.starts(with: [0x1F, 0x8B]) }

    /// Returns the expanded bytes.
    ///
    /// - Parameter limit: the maximum size of the result, less than 2 GiB, which also bounds the memory used.
    package static func expanded(_ bytes: [UInt8], upTo limit: Int) throws(Failure) -> [UInt8] {
        guard bytes.count <= limit else { throw .tooLarge }
        var room = min(limit, max(bytes.count * 4, 1 << 16))
        while true {
            var result = 0
            // One extra byte distinguishes data that exactly fills the space from data that exceeds it.
            let expanded = unsafe [UInt8](unsafeUninitializedCapacity: room + 1) { output, count in
                guard let address = output.baseAddress else { return }
                result = unsafe Int(czlib_gunzip(bytes, UInt32(bytes.count), address, UInt32(room + 1)))
                count = max(0, result)
            }
            if result >= 0, result <= room { return expanded }
            guard result != -1 else { throw .damaged }
            guard room < limit else { throw .tooLarge }
            room = min(limit, room * 4)
        }
    }
}
