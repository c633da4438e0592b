import Foundation

/// A stream socket, closed with its last reference. It blocks its caller's thread.
final class Socket: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        // A child process that another test starts meanwhile must not hold the connection open.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit { close(descriptor) }

    /// A listening socket on the loopback address; port 0 selects a free one.
    static func listening(port: Int) throws -> Socket {
        let socket = try bound(port: port)
        guard listen(socket.descriptor, 256) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return socket
    }

    /// A socket that has a port on the loopback address, and refuses connections.
    static func bound(port: Int) throws -> Socket {
        #if canImport(Darwin)
        let socket = Socket(Darwin.socket(AF_INET, SOCK_STREAM, 0))
        #elseif canImport(Musl)
        let socket = Socket(Musl.socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
        #else
        let socket = Socket(Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        #endif
        socket.set(SO_REUSEADDR, 1)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let bound = unsafe withUnsafeBytes(of: &address) {
            unsafe bind(
                socket.descriptor, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count))
        }
        guard bound == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        return socket
    }

    /// The port that the socket listens on.
    var port: Int {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = unsafe withUnsafeMutableBytes(of: &address) {
            unsafe getsockname(descriptor, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, &size)
        }
        return Int(in_port_t(bigEndian: address.sin_port))
    }

    func set(_ option: Int32, _ value: Int32) {
        var value = value
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Waits for a client, or until `stop` opens; then returns nil.
    func accept(unless stop: Gate) -> Socket? {
        while Self.poll([(descriptor, POLLIN), (stop.descriptor, POLLIN)]) == 0 {
            let accepted = Foundation.accept(descriptor, nil, nil)
            guard accepted >= 0 else { continue }
            let socket = Socket(accepted)
            // Small, so that sent bytes arrive soon.
            socket.set(SO_SNDBUF, 64 * 1024)
            #if canImport(Darwin)
            socket.set(SO_NOSIGPIPE, 1)
            #endif
            return socket
        }
        return nil
    }

    /// Receives the available bytes, waiting for the first one; empty at the end.
    func receive() -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 8192) { buffer, count in
            count = max(0, unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0))
        }
    }

    /// Sends as many bytes as possible without waiting: 0 if none, nil if the other side has gone.
    func sendSome(_ bytes: ArraySlice<UInt8>) -> Int? {
        #if canImport(Darwin)
        let flags = MSG_DONTWAIT
        #else
        let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
        #endif
        let sent = unsafe bytes.withUnsafeBytes { unsafe send(descriptor, $0.baseAddress, $0.count, flags) }
        if sent >= 0 { return sent }
        return errno == EAGAIN || errno == EINTR ? 0 : nil
    }

    /// Waits until the socket can send.
    ///
    /// - Returns: false if the time limit passed first.
    func waitForRoom(atMost limit: Duration?) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return unsafe Foundation.poll(&entry, 1, limit.map { Int32($0 / .milliseconds(1)) } ?? -1) != 0
    }

    /// Waits until the gate opens.
    ///
    /// - Returns: false if the other side went away first.
    func wait(for gate: Gate) -> Bool { Self.poll([(gate.descriptor, POLLIN), (descriptor, POLLIN)]) == 0 }

    /// Closes both directions, so that every wait on the socket ends.
    func disconnect() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Makes a close reset the connection.
    func resetOnClose() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    }

    /// Waits for any of the descriptors and returns the index of the first that is ready.
    private static func poll(_ wanted: [(descriptor: Int32, events: Int32)]) -> Int {
        var entries = wanted.map { pollfd(fd: $0.descriptor, events: Int16($0.events), revents: 0) }
        while true {
            let count = unsafe Foundation.poll(&entries, nfds_t(entries.count), -1)
            if count > 0, let ready = entries.firstIndex(where: { $0.revents != 0 }) { return ready }
        }
    }
}
