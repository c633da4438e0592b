import NIOCore
import NIOEmbedded
import Testing

@testable import VaultService

@Suite("The first lines of requests, and what follows a refusal")
struct RequestLinesTests {
    /// Counts how often the handlers behind it request more bytes.
    private final class ReadCounter: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var count = 0

        func read(context: ChannelHandlerContext) {
            count += 1
            context.read()
        }
    }

    @Test("Once a request is refused, more bytes are requested, although nothing behind requests any, up to the bound")
    func refused() throws {
        let (counter, lines) = (ReadCounter(), RequestLines())
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers([counter, lines])
        let context = try channel.pipeline.syncOperations.context(handler: lines)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.pipeline.fireChannelReadComplete()
        let before = counter.count
        channel.pipeline.fireChannelReadComplete()
        #expect(counter.count == before, "premise: without a refusal, this handler requests nothing")
        lines.refuse(context)
        channel.pipeline.fireChannelReadComplete()
        #expect(counter.count == before + 2)
        let piece = ByteBuffer(repeating: 0x20, count: RequestLines.maxDropped)
        try channel.writeInbound(piece)
        #expect(channel.isActive)
        try channel.writeInbound(ByteBuffer(repeating: 0x20, count: 1))
        channel.embeddedEventLoop.run()
        #expect(!channel.isActive)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }
}
