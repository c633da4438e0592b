import NIOCore
import NIOHTTP1
import VaultModel

/// An answer by the control socket: its head, and its body as it comes.
struct ControlAnswer {
    typealias Parts = NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator

    let head: HTTPResponseHead
    private var parts: Parts
    private var received = ByteBuffer()
    private var isAtEnd = false

    /// The longest line, and the longest document.
    private static let mostBytes = 16 << 20

    /// Waits for the head.
    ///
    /// - Throws: ``ServiceGone`` where none comes.
    init(_ parts: Parts) async throws {
        self.parts = parts
        do {
            guard case .head(let head) = try await self.parts.next(isolation: #isolation) else { throw ServiceGone() }
            self.head = head
        } catch is IOError, is HTTPParserError, is ChannelError {
            throw ServiceGone()
        }
    }

    /// The next bytes of the body; nil at its end.
    ///
    /// - Throws: ``VaultError`` with code `closed` where the service went away before the end.
    mutating func next() async throws -> ByteBuffer? {
        guard !isAtEnd else { return nil }
        do {
            switch try await parts.next(isolation: #isolation) {
            case .body(let bytes): return bytes
            case .end:
                isAtEnd = true
                return nil
            case .head, nil: throw Self.brokenOff
            }
        } catch is IOError, is HTTPParserError, is ChannelError {
            throw Self.brokenOff
        }
    }

    /// The next line of the body, without its end; nil after the last.
    mutating func line() async throws -> [UInt8]? {
        while true {
            if let length = received.readableBytesView.firstIndex(of: UInt8(ascii: "\n")).map({
                $0 - received.readerIndex
            }) {
                defer { received.moveReaderIndex(forwardBy: 1) }
                return received.readBytes(length: length)
            }
            guard received.readableBytes < Self.mostBytes else { throw Self.tooMuch }
            guard var more = try await next() else { return nil }
            received.discardReadBytes()
            received.writeBuffer(&more)
        }
    }

    /// The whole body.
    mutating func whole() async throws -> [UInt8] {
        while var more = try await next() {
            received.writeBuffer(&more)
            guard received.readableBytes < Self.mostBytes else { throw Self.tooMuch }
        }
        return Array(received.readableBytesView)
    }

    static let brokenOff = VaultError(
        .closed, "the service ended before it was done; what was received is kept: run the command again to go on")
    private static let tooMuch = VaultError(.closed, "the service answers with more than this command takes")
}
