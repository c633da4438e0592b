import Hummingbird
import MediaVault
import NIOCore
import ServiceLifecycle
import VaultModel

/// The answer to a request for a long operation. It consists of one line of JSON per event, sent when the event
/// happens.
///
/// The operation is cancelled when its client disconnects or the service shuts down. In the latter case, the last line
/// reports the shutdown.
struct EventStream<Progress: Codable & Sendable, Outcome: Codable & Sendable>: StreamedBody {
    typealias Event = EventDocument<Progress, Outcome>
    typealias Act = @Sendable (_ tell: @escaping @Sendable (Progress) -> Void) async throws -> Outcome

    /// The maximum number of unsent events. If there are more, the oldest progress is dropped.
    private static var maxPending: Int { 16 }

    let watch: DisconnectWatch
    let act: Act

    /// Runs the operation, and writes its events.
    @concurrent
    func write(to writer: inout any ResponseBodyWriter, counting sent: inout Int64) async throws {
        let (events, told) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(Self.maxPending))
        let acting = Task {
            if let last = await end(of: { try await act { told.yield(.progress($0)) } }) { told.yield(last) }
            told.finish()
        }
        let watching = watch.begin(while: { true }, onDisconnect: { acting.cancel() })
        defer {
            watching.end()
            acting.cancel()
        }
        try await withTaskCancellationOrGracefulShutdownHandler {
            for await event in events {
                let line = try JSONText.bytes(of: event) + [UInt8(ascii: "\n")]
                try await writer.write(ByteBuffer(bytes: line))
                sent += Int64(line.count)
            }
        } onCancelOrGracefulShutdown: {
            acting.cancel()
        }
        await acting.value
        try Task.checkCancellation()
    }

    /// Returns the event for the last line; nil if the client is gone.
    private func end(of act: () async throws -> Outcome) async -> Event? {
        do {
            return .done(try await act())
        } catch let error as VaultError {
            return .problem(APIProblem.document(error))
        } catch {
            guard Task.isShuttingDownGracefully else { return nil }
            return .problem(
                APIProblem.document(
                    VaultError(
                        .closed,
                        "the service is shutting down; received data is kept; try again to continue")))
        }
    }
}

extension Response {
    /// Creates a response that runs a long operation, and reports it line by line.
    init<Progress: Codable & Sendable, Outcome: Codable & Sendable>(
        of act: @escaping EventStream<Progress, Outcome>.Act, context: ServiceContext
    ) {
        let events = EventStream<Progress, Outcome>(watch: DisconnectWatch(context.channel)) { tell in
            do {
                return try await act(tell)
            } catch let error as VaultError {
                context.failed(error)
                throw error
            }
        }
        self.init(streaming: events, type: "application/x-ndjson", context: context)
    }

    /// Creates a response that reports changes as they happen.
    init(_ feed: EventFeed, context: ServiceContext) {
        self.init(streaming: feed, type: "text/event-stream", context: context)
    }
}
