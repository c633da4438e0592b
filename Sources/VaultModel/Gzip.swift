import CZlib

/// The format of gzip (RFC 1952), in which servers send what is text.
package enum Gzip {
    /// Why nothing was expanded.
    package enum Failure: Error {
        case damaged
        /// It is larger than the limit.
        case tooLarge
    }

    /// Returns bytes as small as zlib makes them; nil if that is no smaller.
    package static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        // The caller lends both buffers for this call, with their lengths.
        let smaller = unsafe [UInt8](unsafeUninitializedCapacity: bytes.count + 64) { output, count in
            guard let address = output.baseAddress else { return }
            count = unsafe Int(czlib_gzip(bytes, UInt32(bytes.count), address, UInt32(output.count)))
        }
        return smaller.isEmpty || smaller.count >= bytes.count ? nil : smaller
    }

    /// Returns whether bytes begin as the format does.
    package static func begins(_ bytes: [UInt8]) -> Bool { bytes.starts(with: [0x1F, 0x8B]) }

    /// Returns what was compressed.
    ///
    /// - Parameter limit: the most bytes of the result, less than 2 GiB. No more memory is taken than that.
    package static func expanded(_ bytes: [UInt8], upTo limit: Int) throws(Failure) -> [UInt8] {
        guard bytes.count <= limit else { throw .tooLarge }
        var room = min(limit, max(bytes.count * 4, 1 << 16))
        while true {
            var result = 0
            // A byte more than the room tells what fills it from what exceeds it.
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
