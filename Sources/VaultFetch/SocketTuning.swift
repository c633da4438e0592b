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

/// Numbers the connections to origins, so that two answers can be told to have come by one. Only the loop's thread uses it.
///
/// libcurl names its connections from version 8.2 on alone: the port on this side names one as long as it is open, and
/// a transfer that tried a socket has a new one.
final class ConnectionNumbers {
    private static let last = Atomic<UInt64>(0)
    private var numbers: [Int: UInt64] = [:]

    /// The number of the connection that a transfer has; nil where its port is not known.
    ///
    /// - Parameter isNew: whether the transfer made a connection of its own.
    func number(port: Int, isNew: Bool) -> UInt64? {
        guard port > 0 else { return nil }
        if !isNew, let known = numbers[port] { return known }
        let number = Self.last.add(1, ordering: .relaxed).newValue
        numbers[port] = number
        return number
    }
}

/// The sockets that connections to origins were opened on. libcurl does not tell which of them a kept connection has before
/// its request has gone out, so it is found by both of its ends. Only the loop's thread touches it.
final class OpenSockets {
    /// One end of a connection.
    typealias End = (address: NetworkAddress, port: Int)

    /// Tells sockets apart whose numbers are the same, one after the other.
    typealias Serial = Int

    /// By number. One that libcurl has closed stays until its number is used again: no connection is found by it.
    private var serials: [Int32: Serial] = [:]
    private var last = 0

    /// A socket was opened.
    func add(_ socket: Int32) -> Serial {
        last += 1
        serials[socket] = last
        return last
    }

    /// The socket of the connection between two ends; nil where there is none.
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
            // The structure is made to be taken for an address of any family.
            let plain = unsafe UnsafeMutableRawPointer(address).assumingMemoryBound(to: sockaddr.self)
            guard unsafe name(socket, plain, &size) == 0 else { return nil }
            return unsafe NetworkAddress.read(plain)
        }
    }
}

/// How many connections to origins there may be: a share of the files that the system lets the process have open.
enum ConnectionShare {
    /// The share now: the limit may be raised meanwhile.
    static var ofProcess: Int {
        var limit = rlimit()
        #if canImport(Darwin)
        let resource = RLIMIT_NOFILE
        #else
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #endif
        guard unsafe getrlimit(resource, &limit) == 0 else { return OpenFiles.connections(of: 0) }
        // libcurl takes no larger number, and nobody has use for it.
        return min(OpenFiles.connections(of: Int(clamping: limit.rlim_cur)), 1 << 16)
    }
}
