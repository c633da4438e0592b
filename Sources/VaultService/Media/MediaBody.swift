import Hummingbird
import MediaVault
import NIOCore
import VaultModel

/// Hands the bytes of a reader to a connection, at the pace of the connection.
struct MediaBody: Sendable {
    /// The reader ended before, or went past, what the head had promised.
    struct WrongLength: Error {}

    let reader: MediaReader
    /// The bytes that the head has promised; nil where it could not.
    let length: Int64?
    let channel: any Channel
    let watch: ClientWatch
    /// The threads that open blocks.
    let executor: any TaskExecutor

    /// Writes all, or throws so that the connection is closed: an answer that just ends early would leave the client
    /// waiting.
    ///
    /// - Parameter sent: counts the bytes handed over.
    @concurrent
    func write(to writer: inout any ResponseBodyWriter, counting sent: inout Int64) async throws {
        let watching = Task { [watch, reader] in
            try await watch.waitUntilGone { reader.isWaitingForOrigin }
            reader.cancel()
        }
        defer { watching.cancel() }
        var onItsWay: EventLoopFuture<Void>?
        do {
            while let bytes = try await reader.next() {
                guard length.map({ sent + Int64(bytes.count) <= $0 }) ?? true else { throw WrongLength() }
                try await writer.write(ByteBuffer(bytes: bytes))
                sent += Int64(bytes.count)
                // The writer runs ahead of the connection by megabytes; its event loop takes this after the bytes. While
                // one piece is on its way the next is made ready, and no more.
                try await onItsWay?.get()
                onItsWay = channel.eventLoop.submit {}
                // The write of a cancelled task may drop its bytes without a word.
                try Task.checkCancellation()
            }
            // A reader that was cancelled has ended, too.
            try Task.checkCancellation()
            guard length == nil || length == sent else { throw WrongLength() }
        } catch {
            reader.cancel()
            // Closing drops what the connection has not taken yet: at a hole the client gets all that comes before it.
            if error is VaultError { try await drain() }
            throw error
        }
    }

    private func drain() async throws {
        while try await channel.getOption(.bufferedWritableBytes).get() > 0 {
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
