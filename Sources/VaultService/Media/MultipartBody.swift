import Hummingbird
import MediaVault
import NIOCore
import VaultModel

/// Hands several ranges to a connection, each opened, or fetched, when its turn has come.
struct MultipartBody: StreamedBody {
    let multipart: Multipart
    /// The reader of the first part.
    let first: MediaReader
    let channel: any Channel
    let watch: ClientWatch
    /// Opens one of the other parts.
    ///
    /// - Throws: ``VaultError``, also where it is no longer one of the same representation.
    let open: @Sendable (ByteRange) async throws -> MediaReader

    @concurrent
    func write(to writer: inout any ResponseBodyWriter, counting sent: inout Int64) async throws {
        for (number, part) in multipart.parts.enumerated() {
            try await write(multipart.head(of: part), to: &writer, counting: &sent)
            let reader = number == 0 ? first : try await opened(part)
            let body = MediaBody(reader: reader, length: part.length, channel: channel, watch: watch)
            var given: Int64 = 0
            defer { sent += given }
            try await body.write(to: &writer, counting: &given)
            // Each part may be some way ahead of the connection, not all of them together.
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
