#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Reads small files whole, without trusting the file at the path.
package enum WholeFile {
    /// Returns the bytes of a regular file; nil if there is none, it cannot be read, or it is larger.
    ///
    /// A pipe or a device is never read: it could hang the reader, or have no end.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - most: the maximum size of the file, in bytes.
    ///   - followsLinks: whether the path may be a symbolic link; links among its folders are followed in any case.
    package static func bytes(of path: String, atMost most: Int, followsLinks: Bool = false) -> [UInt8]? {
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW)
        let descriptor = unsafe open(path, flags)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard let stamp = FileStamp(regularFile: descriptor), stamp.size <= Int64(most) else { return nil }
        // One extra byte shows whether the file has grown since.
        var bytes = [UInt8](repeating: 0, count: Int(stamp.size) + 1)
        var count = 0
        while count < bytes.count {
            let filled = count
            let more = unsafe bytes.withUnsafeMutableBytes { buffer in
                // The rest of the array's own storage.
                unsafe read(descriptor, buffer.baseAddress.map { unsafe $0 + filled }, buffer.count - filled)
            }
            if more < 0, errno == EINTR { continue }
            guard more >= 0 else { return nil }
            if more == 0 { return Array(bytes.prefix(count)) }
            count += more
        }
        return nil
    }
}
