import NIOCore
import NIOEmbedded
import NIOHTTP1
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

    @Test(
        "Once the parser refuses a head, the client gets the whole answer, and what it goes on sending is read",
        arguments: [
            "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", "GET /a b HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1, 2\r\n\r\n", "get / HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nX : a\r\n\r\n", "\u{1}\u{2}\r\n\r\n",
        ])
    func refusedByParser(request: String) throws {
        let counter = ReadCounter()
        let channel = EmbeddedChannel()
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(counter)
        try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
        try pipeline.addHandler(ConnectionOptionsInstaller())
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.embeddedEventLoop.run()
        let before = counter.count
        channel.pipeline.fireChannelReadComplete()
        #expect(counter.count == before, "premise: without a refusal, nothing requests more bytes")
        try channel.writeInbound(ByteBuffer(string: request))
        channel.pipeline.fireChannelReadComplete()
        #expect(counter.count > before)
        var answer = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { answer += String(buffer: bytes) }
        #expect(answer.hasPrefix("HTTP/1.1 400 Bad Request\r\n"), "\(answer)")
        #expect(answer.contains("\r\nDate: ") && answer.contains("\r\nConnection: close\r\n"), "\(answer)")
        // The refused request may have been HEAD.
        #expect(answer.contains("\r\nContent-Length: 0\r\n") && answer.hasSuffix("\r\n\r\n"), "\(answer)")
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }
}
