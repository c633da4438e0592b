import NIOCore
import NIOHTTP1
import VaultModel

/// Sees the lines that requests begin with before the parser does: one of a later HTTP/1 is made one of HTTP/1.1, which it
/// is to be read as, and of one that the parser does not take the answer can say why. Belongs to its channel's event loop.
final class RequestLines: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Whether no request is on its way: what comes now begins one.
    var isBetween = true
    /// Whether the connection's first line was of a later version: the parser would not take another.
    private(set) var isLater = false
    /// The line that came last between two requests.
    private(set) var last: RequestLine?

    /// The first line of the connection, as long as its end has not come.
    private var held: ByteBuffer?
    private var isFirst = true

    /// No longer line is waited for: it can be no request's that is answered.
    private static let mostBytes = 16 << 10

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        guard isFirst else {
            if isBetween { last = Self.line(of: bytes).flatMap { RequestLine($0.bytes) } }
            return context.fireChannelRead(data)
        }
        let mayBeText = bytes.readableBytesView.allSatisfy(Self.isText)
        if var earlier = held.take() {
            earlier.writeBuffer(&bytes)
            bytes = earlier
        }
        guard let line = Self.line(of: bytes) else {
            guard mayBeText, bytes.readableBytes < Self.mostBytes else { return pass(bytes, context) }
            held = bytes
            return
        }
        last = RequestLine(line.bytes)
        if let last, last.isLater {
            isLater = true
            bytes.setInteger(UInt8(ascii: "1"), at: line.end - 1)
        }
        pass(bytes, context)
    }

    func channelReadComplete(context: ChannelHandlerContext) { context.fireChannelReadComplete() }

    /// What is left when the client has sent its last is the parser's to refuse.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed, let bytes = held.take() { pass(bytes, context) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let bytes = held.take() { pass(bytes, context) }
        context.fireChannelInactive()
    }

    private func pass(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        isFirst = false
        context.fireChannelRead(wrapInboundOut(bytes))
    }

    /// Whether a byte can stand in a line, or end it: nobody waits for the rest of what is none.
    private static func isText(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7F || byte == 0x0D || byte == 0x0A
    }

    /// The first line that is not empty, and where in the buffer it ends; nil where its end has not come.
    private static func line(of buffer: ByteBuffer) -> (bytes: ByteBufferView, end: Int)? {
        let view = buffer.readableBytesView
        let start = view.firstIndex { $0 != 0x0D && $0 != 0x0A } ?? view.endIndex
        guard let feed = view[start...].firstIndex(of: 0x0A) else { return nil }
        let end = feed > start && view[feed - 1] == 0x0D ? feed - 1 : feed
        return (view[start..<end], end)
    }
}

@available(*, unavailable)
extension RequestLines: Sendable {}
