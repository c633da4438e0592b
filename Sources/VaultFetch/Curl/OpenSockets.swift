#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

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
