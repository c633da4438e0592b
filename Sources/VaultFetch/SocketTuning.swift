import Synchronization
import VaultModel

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

#if os(Linux)
import Glibc
#endif

/// The limit on the number of bytes that the kernel buffers for a slow reader.
///
/// While bytes are read quickly, the kernel lets a connection's receive window grow to several MB. If the reader then
/// stops or leaves, that much has been sent in vain. A window need only cover the bytes that a fast line carries in one
/// round trip.
enum SocketWindow {
    /// The number of bytes that a line of one gigabit per second carries in a microsecond.
    private static let bytesPerMicrosecond: UInt32 = 125
    private static let least: UInt32 = 64 << 10

    /// Returns the window size, in bytes, for a round-trip time.
    static func bytes(roundTrip microseconds: UInt32) -> UInt32 {
        let (needed, overflows) = microseconds.multipliedReportingOverflow(by: bytesPerMicrosecond)
        return overflows ? .max >> 1 : min(max(least, needed), .max >> 1)
    }

    /// Narrows a connection's window to the size that its round-trip time requires. Failures are ignored.
    ///
    /// - Parameters:
    ///   - sockets: sockets of which one may be the connection's. libcurl does not report the connection's socket while
    ///     the transfer runs.
    ///   - port: the connection's local port, which identifies its socket.
    static func narrow(_ sockets: [Int32], at port: Int) {
        #if os(Linux)
        guard let socket = sockets.last(where: { Self.port(of: $0) == port }) else { return }
        var facts = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        guard unsafe getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, &facts, &size) == 0 else { return }
        var window = Int32(bytes(roundTrip: facts.tcpi_rtt))
        // The kernel would lift a clamp on the window alone as the buffer grows, but a fixed-size buffer does not grow.
        _ = unsafe setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &window, socklen_t(MemoryLayout<Int32>.size))
        #endif
    }

    #if os(Linux)
    private static func port(of socket: Int32) -> Int? {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutablePointer(to: &address) { address in
            // The structure is designed to be accessed as a socket address of any family.
            let plain = unsafe UnsafeMutableRawPointer(address).assumingMemoryBound(to: sockaddr.self)
            guard unsafe getsockname(socket, plain, &size) == 0 else { return nil }
            return unsafe NetworkAddress.read(plain)?.port
        }
    }
    #endif
}

/// A check of a kept connection before it carries another request.
enum KeptConnection {
    /// Returns whether unsolicited bytes, or the end of the connection, are waiting on a socket.
    ///
    /// Bytes that arrive before a request is sent would be mistaken for the beginning of its response. libcurl
    /// considers a connection with such bytes alive.
    static func isDirty(_ socket: Int32) -> Bool {
        var byte: UInt8 = 0
        let count = unsafe recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
    }
}

/// Numbers the connections to origins, so that responses on the same connection can be recognized.
///
/// libcurl identifies its connections only from version 8.2 on. Here, the local port identifies a connection while it
/// is open, and a transfer that tried a socket has a new connection. Only the loop's thread uses this object.
final class ConnectionNumbers {
    private static let last = Atomic<UInt64>(0)
    private var numbers: [Int: UInt64] = [:]

    /// Returns the number of a transfer's connection; nil if the connection's port is unknown.
    ///
    /// - Parameter isNew: whether the transfer opened a new connection.
    func number(port: Int, isNew: Bool) -> UInt64? {
        guard port > 0 else { return nil }
        if !isNew, let known = numbers[port] { return known }
        let number = Self.last.add(1, ordering: .relaxed).newValue
        numbers[port] = number
        return number
    }
}

/// The sockets of the connections to origins.
///
/// libcurl does not report a kept connection's socket before the request is sent, so the socket is found by the
/// addresses of both ends. Only the loop's thread uses this object.
final class OpenSockets {
    /// One end of a connection.
    typealias End = (address: NetworkAddress, port: Int)

    /// Distinguishes sockets that have the same descriptor at different times.
    typealias Serial = Int

    /// The serial of each descriptor's socket. A socket that libcurl has closed remains until its descriptor is reused;
    /// no connection matches it.
    private var serials: [Int32: Serial] = [:]
    private var last = 0

    /// Adds a newly opened socket.
    func add(_ socket: Int32) -> Serial {
        last += 1
        serials[socket] = last
        return last
    }

    /// Returns the socket of the connection between two ends; nil if there is none.
    func connection(from local: End, to remote: End) -> (socket: Int32, serial: Serial)? {
        for (socket, serial) in serials where unsafe Self.end(of: socket, getpeername).map({ $0 == remote }) == true {
            if unsafe Self.end(of: socket, getsockname).map({ $0 == local }) == true { return (socket, serial) }
        }
        return nil
    }

    private static func end(
        of socket: Int32, _ name: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> End? {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutablePointer(to: &address) { address in
            // The structure is designed to be accessed as a socket address of any family.
            let plain = unsafe UnsafeMutableRawPointer(address).assumingMemoryBound(to: sockaddr.self)
            guard unsafe name(socket, plain, &size) == 0 else { return nil }
            return unsafe NetworkAddress.read(plain)
        }
    }
}

/// The maximum number of connections to origins, which is a share of the process's limit on open files.
enum ConnectionShare {
    /// The share under the current limit, which may be raised while the process runs.
    static var ofProcess: Int {
        // libcurl accepts no larger number, and more connections would not help.
        min(DescriptorShares.connections(of: DescriptorShares.limit ?? 0), 1 << 16)
    }
}
