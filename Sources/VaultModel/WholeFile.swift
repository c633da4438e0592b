#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Reads small files whole, without trusting what the path leads to.
package enum WholeFile {
    /// Returns a regular file's bytes; nil if there is no such file, it cannot be read, or it is larger than `most`.
    ///
    /// A pipe or a device is never read, because it could make the reader hang, or could have no end.
    ///
    /// - Parameters:
    ///   - path: the file's path.
    ///   - most: the maximum size of the file, in bytes.
    ///   - followsLinks: whether the path may be a symbolic link; links among its folders are always followed.
    package static func bytes(of path: String, atMost most: Int, followsLinks: Bool = false) -> [UInt8]? {
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW)
        let descriptor = unsafe open(path, flags)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard let stamp = FileStamp(regularFile: descriptor), stamp.size <= Int64(most) else { return nil }
        // One extra byte shows whether the file grew while it was read.
        var bytes = [UInt8](repeating: 0, count: Int(stamp.size) + 1)
        var count = 0
        while count < bytes.count {
            let filled = count
            let more = unsafe bytes.withUnsafeMutableBytes { buffer in
                // The pointer and the count stay within the array's own storage.
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
