import Hummingbird
import MediaVault
import NIOCore
import VaultModel

/// Writes a reader's bytes to a connection, at the pace of the connection.
struct MediaBody: StreamedBody {
    /// The error thrown if a reader delivered fewer or more bytes than the answer's head promised.
    struct WrongLength: Error {}
    /// The error thrown if the viewer lost the right to the answer.
    struct RightLost: Error {}

    let reader: MediaReader
    /// The bytes that were already read to determine the kind of content; nil if there are none.
    let start: [UInt8]?
    /// The number of bytes that the answer's head promised; nil if it is unknown.
    let length: Int64?
    let channel: any Channel
    let watch: DisconnectWatch
    /// The viewer's right, whose loss ends the answer; nil if no loss of a right ends it.
    let right: ViewerRight?

    /// The maximum number of bytes written at a time to a connection that keeps up.
    private static let pieceBytes = 128 << 10

    /// Writes all bytes, or throws so that the connection is closed.
    ///
    /// If the answer merely ended early, the client would keep waiting for the rest.
    ///
    /// - Parameter sent: the count to which the number of written bytes is added.
    @concurrent
    func write(to writer: inout any ResponseBodyWriter, counting sent: inout Int64) async throws {
        let watching = watch.begin(
            while: { [reader] in reader.isWaitingForOrigin }, onDisconnect: { [reader] in reader.cancel() })
        defer { watching.end() }
        // While a client reads nothing, the answer cannot notice that the right was lost, so the connection is closed.
        let holding = right?.watch { [reader, channel] in
            // The connection is closed first, so that an answer without a length does not end as if it were complete.
            channel.close(promise: nil)
            reader.cancel()
        }
        defer { holding?.end() }
        let flow = BodyFlow(channel.eventLoop)
        var start = start
        do {
            // A client that keeps up gets larger pieces. A stalled client gets smaller ones, and so occupies little
            // memory.
            while let bytes = try await next(&start, atMost: flow.isIdle ? Self.pieceBytes : MediaReader.chunkBytes) {
                guard length.map({ sent + Int64(bytes.count) <= $0 }) ?? true else { throw WrongLength() }
                try await writer.write(ByteBuffer(bytes: bytes))
                sent += Int64(bytes.count)
                flow.noteWrite()
                await flow.room()
                // In a cancelled task, a write may silently drop its bytes.
                try Task.checkCancellation()
            }
            // A reader that was cancelled also ends without an error.
            try Task.checkCancellation()
            guard holding?.isLost != true else { throw RightLost() }
            guard length == nil || length == sent else { throw WrongLength() }
        } catch {
            reader.cancel()
            if error is VaultError { try await channel.drained() }
            throw error
        }
    }

    private func next(_ start: inout [UInt8]?, atMost count: Int) async throws -> [UInt8]? {
        if let bytes = start.take() { return bytes }
        return try await reader.next(atMost: count)
    }
}

/// Writes several ranges to a connection, and opens or fetches each range in turn.
struct MultipartBody: StreamedBody {
    let multipart: Multipart
    /// The reader of the first part.
    let first: MediaReader
    let start: [UInt8]?
    let channel: any Channel
    let watch: DisconnectWatch
    let right: ViewerRight?
    /// Opens a part other than the first.
    ///
    /// - Throws: ``VaultError``, for example if the representation has changed.
    let open: @Sendable (ByteRange) async throws -> MediaReader

    @concurrent
    func write(to writer: inout any ResponseBodyWriter, counting sent: inout Int64) async throws {
        for (number, part) in multipart.parts.enumerated() {
            try await write(multipart.head(of: part), to: &writer, counting: &sent)
            let reader = number == 0 ? first : try await opened(part)
            let body = MediaBody(
                reader: reader, start: number == 0 ? start : nil, length: part.length, channel: channel, watch: watch,
                right: right)
            var given: Int64 = 0
            defer { sent += given }
            try await body.write(to: &writer, counting: &given)
            // Each part may be written a little ahead of the connection, but not all parts together.
            try await channel.eventLoop.submit {}.get()
        }
        try await write(multipart.end, to: &writer, counting: &sent)
    }

    @concurrent
    private func write(
        _ text: String, to writer: inout any ResponseBodyWriter, counting sent: inout Int64
    ) async throws {
        try await writer.write(ByteBuffer(string: text))
        sent += Int64(text.utf8.count)
    }

    private func opened(_ part: ByteRange) async throws -> MediaReader {
        do {
            return try await watch.during { [open] in try await open(part) }
        } catch {
            if error is VaultError { try await channel.drained() }
            throw error
        }
    }
}

/// A body that is written piece by piece.
protocol StreamedBody: Sendable {
    /// Writes all bytes, or throws so that the connection is closed.
    ///
    /// - Parameter sent: the count to which the number of written bytes is added.
    @concurrent
    func write(to writer: inout any ResponseBodyWriter, counting sent: inout Int64) async throws
}

/// Prevents a body from being written far ahead of its connection.
///
/// The HTTP library's writer accepts megabytes before it makes the caller wait. The connection's event loop takes the
/// written pieces in order. A piece that it has not yet taken is in flight.
final class BodyFlow: Sendable {
    private struct State {
        var onTheirWay = 0
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let eventLoop: any EventLoop
    private let state = Locked(State())

    /// The maximum number of pieces that may be in flight while the next piece is prepared.
    private static let most = 1

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// Whether the event loop has taken everything that was written.
    var isIdle: Bool { state.withLock { $0.onTheirWay == 0 } }

    /// Records that a piece was written.
    func noteWrite() {
        state.withLock { $0.onTheirWay += 1 }
        eventLoop.execute { self.arrived() }
    }

    /// Waits until the next piece may be prepared.
    func room() async {
        guard state.withLock({ $0.onTheirWay > Self.most }) else { return }
        await withCheckedContinuation { waiter in
            let isFull = state.withLock { state in
                guard state.onTheirWay > Self.most else { return false }
                state.waiter = waiter
                return true
            }
            if !isFull { waiter.resume() }
        }
    }

    private func arrived() {
        let waiter = state.withLock { state in
            state.onTheirWay -= 1
            return state.onTheirWay > Self.most ? nil : state.waiter.take()
        }
        waiter?.resume()
    }
}

extension Channel {
    /// Waits until the connection has sent everything that was written.
    ///
    /// If the connection were closed earlier, unsent bytes would be lost, but a client must get all bytes before a gap.
    func drained() async throws {
        while try await getOption(.bufferedWritableBytes).get() > 0 {
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
