import Hummingbird
import MediaVault
import NIOCore
import VaultModel

/// Hands the bytes of a reader to a connection, at the pace of the connection.
struct MediaBody: StreamedBody {
    /// The reader ended before, or went past, what the head had promised.
    struct WrongLength: Error {}

    let reader: MediaReader
    /// The bytes that the head has promised; nil where it could not.
    let length: Int64?
    let channel: any Channel
    let watch: ClientWatch

    /// The most bytes given to a connection that keeps up at a time.
    private static let pieceBytes = 128 << 10

    /// Writes all, or throws so that the connection is closed: an answer that just ends early would leave the client
    /// waiting.
    ///
    /// - Parameter sent: counts the bytes handed over.
    @concurrent
    func write(to writer: inout any ResponseBodyWriter, counting sent: inout Int64) async throws {
        let watching = watch.begin(
            while: { [reader] in reader.isWaitingForOrigin }, whenGone: { [reader] in reader.cancel() })
        defer { watching.end() }
        let flow = BodyFlow(channel.eventLoop)
        do {
            // A client that keeps up gets larger pieces; one that stands still holds few bytes.
            while let bytes = try await reader.next(atMost: flow.isIdle ? Self.pieceBytes : MediaReader.chunkBytes) {
                guard length.map({ sent + Int64(bytes.count) <= $0 }) ?? true else { throw WrongLength() }
                try await writer.write(ByteBuffer(bytes: bytes))
                sent += Int64(bytes.count)
                flow.noteWrite()
                await flow.room()
                // The write of a cancelled task may drop its bytes without a word.
                try Task.checkCancellation()
            }
            // A reader that was cancelled has ended, too.
            try Task.checkCancellation()
            guard length == nil || length == sent else { throw WrongLength() }
        } catch {
            reader.cancel()
            if error is VaultError { try await channel.drained() }
            throw error
        }
    }
}
