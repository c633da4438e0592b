#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A connection whose answer has ended, and that is to carry another request.
enum SpentConnection {
    /// Whether something waits on it that nobody has asked for, or its end: bytes that lie there before a request goes out
    /// would be taken for the beginning of the answer. libcurl takes such a connection for a living one.
    static func isDirty(_ socket: Int32) -> Bool {
        var byte: UInt8 = 0
        let count = unsafe recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
    }
}
