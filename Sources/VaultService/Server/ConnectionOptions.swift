import NIOCore
import NIOHTTP1
import VaultModel

/// Sees to what a request says of its connection, which the HTTP library does in part (RFC 9110 §10.1.1, RFC 9112 §9).
///
/// `Connection: close` counts however it is spelled, HTTP/1.0 means it, and a request that does not name its host once is
/// the last: the answer says so too, and one of unknown length to HTTP/1.0 ends with the connection in place of chunks. Who waits for `100 Continue` gets it. Belongs to its
/// channel's event loop.
final class ConnectionOptions: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// The requests that are not answered yet, oldest first: whether the connection closes after each.
    private var closing: [(closes: Bool, isOld: Bool)] = []

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else {
            context.fireChannelRead(data)
            return
        }
        let isOld = head.version.major == 1 && head.version.minor == 0
        let closes =
            isOld || !head.namesItsHost
            || head.headers[canonicalForm: "connection"].contains { $0.isEqualIgnoringCase("close") }
        // Within another answer it would be taken for a part of that.
        if closing.isEmpty, !isOld, head.headers["expect"].contains(where: { $0.isEqualIgnoringCase("100-continue") }) {
            let go = HTTPResponseHead(version: .http1_1, status: .continue)
            context.writeAndFlush(wrapOutboundOut(.head(go)), promise: nil)
        }
        closing.append((closes, isOld))
        // The one spelling that the library looks for.
        if closes { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            if let request = closing.first, request.closes {
                head.headers.replaceOrAdd(name: "Connection", value: "close")
                // There are no chunks in HTTP/1.0.
                if request.isOld, !head.headers.contains(name: "content-length") { head.version = .http1_0 }
            }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            if !closing.isEmpty { closing.removeFirst() }
            context.write(data, promise: promise)
        case .body: context.write(data, promise: promise)
        }
    }
}

extension HTTPRequestHead {
    /// Whether it says once what host it is for. One that does not may have been put together from two, and so may what
    /// follows it (RFC 9112 §3.2).
    fileprivate var namesItsHost: Bool {
        let hosts = headers["host"]
        return hosts.count == 1 && !hosts[0].isEmpty
    }
}

@available(*, unavailable)
extension ConnectionOptions: Sendable {}
