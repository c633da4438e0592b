import NIOCore
import NIOHTTP1

/// Puts ``RequestLines`` before the parser and ``ConnectionOptions`` where requests still say their version, and leaves.
final class ConnectionOptionsInstaller: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        do {
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            let lines = RequestLines()
            try pipeline.addHandler(lines, position: .before(decoder))
            try pipeline.addHandler(ConnectionOptions(lines), position: .after(decoder))
        } catch {
            context.fireErrorCaught(error)
        }
        pipeline.removeHandler(context: context, promise: nil)
    }
}

@available(*, unavailable)
extension ConnectionOptionsInstaller: Sendable {}
