import HTTPTypes
import Hummingbird
import NIOCore
import VaultModel

/// A connection that reports too many unread bytes for the first few queries.
final class UnreadChannel: Channel {
    private let base: any Channel
    private let unread: Int
    private let asked = Locked(0)

    init(_ base: any Channel, unread: Int) {
        self.base = base
        self.unread = unread
    }

    /// The number of queries.
    var questions: Int { asked.withLock { $0 } }

    func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
        guard option is ChannelOptions.Types.BufferedWritableBytesOption else { return base.getOption(option) }
        let number = asked.withLock { asked in
            asked += 1
            return asked
        }
        guard let value = (number > unread ? 0 : 1 << 20) as? Option.Value else { return base.getOption(option) }
        return eventLoop.makeSucceededFuture(value)
    }

    func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
        base.setOption(option, value: value)
    }

    var allocator: ByteBufferAllocator { base.allocator }
    var closeFuture: EventLoopFuture<Void> { base.closeFuture }
    var pipeline: ChannelPipeline { base.pipeline }
    var localAddress: SocketAddress? { base.localAddress }
    var remoteAddress: SocketAddress? { base.remoteAddress }
    var parent: (any Channel)? { base.parent }
    var isWritable: Bool { base.isWritable }
    var isActive: Bool { true }
    var _channelCore: any ChannelCore { base._channelCore }
    var eventLoop: any EventLoop { base.eventLoop }
}

/// Passes everything that a body writes to a closure.
struct RecordingWriter: ResponseBodyWriter {
    let take: @Sendable (String) -> Void

    mutating func write(_ buffer: ByteBuffer) async throws { take(String(buffer: buffer)) }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
