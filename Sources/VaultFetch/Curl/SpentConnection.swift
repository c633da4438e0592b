#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A connection whose answer has ended.
enum SpentConnection {
    /// Ends a connection on which an origin has sent more than its answer: used again, the rest would be taken for the
    /// beginning of the next one. libcurl notices that only where both came in one piece.
    static func endIfDirty(_ socket: Int32) {
        var byte: UInt8 = 0
        guard unsafe recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0 else { return }
        // libcurl, which owns the descriptor, finds the connection dead and closes it.
        _ = shutdown(socket, Int32(SHUT_RDWR))
    }
}
