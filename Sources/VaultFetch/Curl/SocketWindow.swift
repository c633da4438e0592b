#if os(Linux)
import Glibc
#endif

/// How much a connection may hold for a reader that is slow.
///
/// The kernel lets a receive window grow to several MB while bytes are taken fast; when the reader then stops, or leaves,
/// so much has been sent for nothing. A window need only cover what a fast line brings within one round trip.
enum SocketWindow {
    /// Bytes that a line of a gigabit a second brings in a microsecond.
    private static let bytesPerMicrosecond: UInt32 = 125
    private static let least: UInt32 = 64 << 10

    /// The window that a round trip needs, in bytes.
    static func bytes(roundTrip microseconds: UInt32) -> UInt32 {
        let (needed, overflows) = microseconds.multipliedReportingOverflow(by: bytesPerMicrosecond)
        return overflows ? .max >> 1 : min(max(least, needed), .max >> 1)
    }

    /// Narrows the window of a connection to what its round trip needs. A courtesy: where it fails nothing is wrong.
    ///
    /// - Parameters:
    ///   - sockets: those one of which may be the connection's; libcurl does not tell which while the transfer runs.
    ///   - port: the connection's port on this side, by which its socket is known.
    static func narrow(_ sockets: [Int32], at port: Int) {
        #if os(Linux)
        guard let socket = sockets.last(where: { Self.port(of: $0) == port }) else { return }
        var facts = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        guard unsafe getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, &facts, &size) == 0 else { return }
        var window = Int32(bytes(roundTrip: facts.tcpi_rtt))
        // A clamp of the window alone would be lifted as the buffer grows; a set size keeps it from growing.
        _ = unsafe setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &window, socklen_t(MemoryLayout<Int32>.size))
        #endif
    }

    #if os(Linux)
    private static func port(of socket: Int32) -> Int? {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutablePointer(to: &address) { address in
            // The structure is made to be taken for an address of any family.
            let plain = unsafe UnsafeMutableRawPointer(address).assumingMemoryBound(to: sockaddr.self)
            guard unsafe getsockname(socket, plain, &size) == 0 else { return nil }
            return unsafe NetworkAddress.read(plain)?.port
        }
    }
    #endif
}
