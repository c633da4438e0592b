import OriginTestSupport
import Testing
import VaultModel

@testable import VaultFetch

#if os(Linux)
import Glibc

@Suite("Receive windows", .soon)
struct SocketWindowTests {
    @Test(
        "A window allows a gigabit a second within the round trip, and is at least 64 KiB",
        arguments: [(0, 65_536), (524, 65_536), (1000, 125_000), (100_000, 12_500_000), (UInt32.max, .max >> 1)])
    func bytes(microseconds: UInt32, window: UInt32) {
        #expect(SocketWindow.bytes(roundTrip: microseconds) == window)
    }

    @Test("Of the sockets that were tried, only the connection's is narrowed, last or not")
    func narrow() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 10))
        let (connection, taken) = (try Connection(port: server.port), try Connection(port: server.port))
        let (wide, closed) = (connection.window, dup(0))
        close(closed)
        SocketWindow.narrow([connection.socket, taken.socket, closed], at: 0)
        #expect(connection.window == wide && taken.window == wide)
        SocketWindow.narrow([connection.socket, taken.socket, closed], at: connection.port)
        #expect(connection.window < wide && taken.window == wide)
    }

    @Test("The connection that delivered a response is narrowed")
    func answer() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 1 << 40))
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        let socket = try #require((0..<4096).first { unsafe Connection.port(of: $0, getpeername) == server.port })
        // SO_BUF_LOCK, in Linux since 5.14: 2 means a receive buffer whose size was set.
        func isSized(_ socket: Int32) throws -> Bool {
            var locked: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            try #require(
                unsafe getsockopt(socket, SOL_SOCKET, 72, &locked, &size) == 0,
                "the system does not report whether a buffer's size was set; the test needs Linux 5.14")
            return locked & 2 != 0
        }
        let other = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(other) }
        #expect(try !isSized(other), "a socket with the default size does not count as narrowed")
        #expect(try isSized(socket))
        response.cancel()
    }
}

/// A connection to a port of this machine with a wider window than a round trip that short needs.
private final class Connection {
    let socket: Int32

    init(port: Int) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var size: Int32 = 200_000
        _ = unsafe setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        let result = unsafe withUnsafeBytes(of: address) { bytes in
            let plain = unsafe bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
            return unsafe connect(socket, plain, socklen_t(bytes.count))
        }
        try #require(result == 0)
    }

    deinit { close(socket) }

    /// The local port.
    var port: Int { unsafe Self.port(of: socket, getsockname) }

    /// The port of a socket's local or remote end; 0 if it is not IPv4.
    static func port(
        of socket: Int32, _ name: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> Int {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = unsafe withUnsafeMutableBytes(of: &address) { bytes in
            let plain = unsafe bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
            return unsafe plain.map { unsafe name(socket, $0, &size) }
        }
        return result == 0 && address.sin_family == AF_INET ? Int(in_port_t(bigEndian: address.sin_port)) : 0
    }

    /// The receive window in bytes: how much the system buffers for its reader.
    var window: Int32 {
        var window: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        _ = unsafe getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &window, &size)
        return window
    }
}
#endif
