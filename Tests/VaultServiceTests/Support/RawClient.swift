import Foundation
import NIOCore
import Testing

/// A client that sends given bytes unchanged, and reads only on request.
///
/// Its calls block its own queue, never the test's thread.
final class RawClient: Sendable {
    private let descriptor: Int32
    private let queue = DispatchQueue(label: "raw client")

    /// Connects to a port of this machine.
    ///
    /// - Parameters:
    ///   - host: One of this machine's addresses.
    ///   - receiveBuffer: The size of the kernel's receive buffer in bytes; a small one makes a client stall early.
    convenience init(host: String = "127.0.0.1", port: Int, receiveBuffer: Int32? = nil) throws {
        try self.init(SocketAddress(ipAddress: host, port: port), receiveBuffer: receiveBuffer)
    }

    /// Connects to a socket file.
    convenience init(path: String) throws { try self.init(SocketAddress(unixDomainSocketPath: path)) }

    private init(_ address: SocketAddress, receiveBuffer: Int32? = nil) throws {
        let family = address.protocol.rawValue
        #if canImport(Darwin)
        descriptor = socket(family, SOCK_STREAM, 0)
        #else
        descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        #endif
        // A process that another test starts meanwhile must not keep the connection open after this side closes it.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        // A test that waits for bytes that never arrive fails instead of hanging.
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        if var size = receiveBuffer {
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        let result = unsafe address.withSockAddr { unsafe connect(descriptor, $0, socklen_t($1)) }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    deinit { _ = Foundation.close(descriptor) }

    /// Sends all bytes.
    ///
    /// - Returns: whether the other side still takes them.
    @discardableResult
    func send(_ text: String) async -> Bool {
        await perform { descriptor in
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let sent = unsafe rest.withUnsafeBytes {
                    unsafe Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard sent > 0 else { return false }
                rest = rest.dropFirst(sent)
            }
            return true
        }
    }

    /// Reads the head of an answer, or returns nil if the connection ends first.
    func readHead() async -> RawHead? {
        await perform { descriptor in
            var bytes: [UInt8] = []
            while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                guard let byte = Self.receive(descriptor, most: 1).first else { return nil }
                bytes.append(byte)
            }
            return RawHead(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Reads `count` bytes, or fewer if the connection ends first.
    func read(_ count: Int) async -> [UInt8] {
        await perform { descriptor in
            var bytes: [UInt8] = []
            while bytes.count < count {
                let more = Self.receive(descriptor, most: count - bytes.count)
                guard !more.isEmpty else { break }
                bytes += more
            }
            return bytes
        }
    }

    /// Reads until the connection ends.
    func readToEnd() async -> [UInt8] { await read(.max) }

    /// Whether the other side has ended the connection; bytes that it has sent are dropped.
    func isEnded() async -> Bool {
        await perform { descriptor in
            unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
                while true {
                    let received = unsafe recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                    if received <= 0 { return received == 0 || errno != EAGAIN }
                }
            }
        }
    }

    /// Closes the connection properly (FIN).
    func close() async { await perform { _ = shutdown($0, Int32(SHUT_RDWR)) } }

    /// Closes the connection with a reset (RST).
    func reset() async {
        await perform { descriptor in
            var linger = linger(l_onoff: 1, l_linger: 0)
            _ = unsafe setsockopt(
                descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
            // The descriptor stays in use, so that no other socket gets its number before `deinit` closes it.
            let null = unsafe open("/dev/null", O_RDONLY)
            _ = dup2(null, descriptor)
            _ = Foundation.close(null)
        }
    }

    /// Reads the next chunk of a chunked body, or returns nil at its end.
    func readChunk() async -> [UInt8]? {
        await perform { descriptor in
            var size: [UInt8] = []
            while !size.suffix(2).elementsEqual("\r\n".utf8) {
                guard let byte = Self.receive(descriptor, most: 1).first else { return nil }
                size.append(byte)
            }
            guard let count = Int(String(decoding: size.dropLast(2), as: UTF8.self), radix: 16), count > 0 else {
                return nil
            }
            var bytes: [UInt8] = []
            while bytes.count < count + 2 {
                let more = Self.receive(descriptor, most: count + 2 - bytes.count)
                guard !more.isEmpty else { return nil }
                bytes += more
            }
            return bytes.dropLast(2)
        }
    }

    /// Sends a request, and reads the head of its answer, and the body if it has a length.
    func ask(
        _ method: String = "GET", _ target: String, host: String, fields: KeyValuePairs<String, String> = [:],
        body: String = ""
    ) async -> (head: RawHead, body: [UInt8])? {
        await request(method, target, host: host, fields: fields, body: body)
        guard let head = await readHead() else { return nil }
        guard method != "HEAD", let length = head.fields["content-length"].flatMap({ Int($0) }) else {
            return (head, [])
        }
        return (head, await read(length))
    }

    /// Sends a request.
    func request(
        _ method: String = "GET", _ target: String, host: String, fields: KeyValuePairs<String, String> = [:],
        body: String = ""
    ) async {
        let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
        let lines = fields.map { "\($0.key): \($0.value)\r\n" }.joined() + length
        await send("\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n\(lines)\r\n\(body)")
    }

    private func perform<Value: Sendable>(_ work: @escaping @Sendable (Int32) -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { [self] in continuation.resume(returning: work(descriptor)) }
        }
    }

    private static func receive(_ descriptor: Int32, most: Int) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: min(most, 65536)) { buffer, count in
            var received: Int
            // On Linux, resuming a stopped process interrupts a wait that has a time limit.
            repeat {
                received = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
            } while received < 0 && errno == EINTR
            if received < 0, errno == EAGAIN { Issue.record("nothing arrived for a minute") }
            count = max(0, received)
        }
    }
}
