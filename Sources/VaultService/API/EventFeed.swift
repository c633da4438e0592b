import Hummingbird
import MediaVault
import NIOCore
import ServiceLifecycle
import VaultModel

/// Tells one client what changes, as it changes: a stream of server-sent events (WHATWG HTML, §9.2) that ends with the
/// client or the service.
///
/// A client that reads slowly is told less often what has changed since.
struct EventFeed: StreamedBody {
    let vault: Vault
    let downloads: DownloadBoard
    /// The one resource whose changes are told; nil tells those of all.
    let only: ResourceID?
    let channel: any Channel

    /// How often something is told at most.
    private static let interval: Duration = .milliseconds(100)
    /// What a client may leave unread before it is told no more for a while.
    private static let mostUnread = 64 << 10

    @concurrent
    func write(to writer: inout any ResponseBodyWriter, counting sent: inout Int64) async throws {
        let news = FeedNews(vault, downloads)
        let watching = ClientWatch(channel).begin(while: { true }, whenGone: { news.finish() })
        defer { watching.end() }
        try await withTaskCancellationOrGracefulShutdownHandler {
            var text = Self.comment
            if let only { text += try await states(of: [only]) }
            while true {
                // Nothing at all would look like the end.
                if !text.isEmpty { try await writer.write(ByteBuffer(string: text)) }
                sent += Int64(text.utf8.count)
                try await Task.sleep(for: Self.interval)
                try await waitForClient()
                guard let batch = await news.next() else { return }
                text = try await events(of: batch)
            }
        } onCancelOrGracefulShutdown: {
            news.finish()
        }
        try Task.checkCancellation()
    }

    private func events(of batch: FeedNews.Batch) async throws -> String {
        var text = batch.isBeatDue ? Self.comment : ""
        for event in batch.store { text += try Self.event("store", StoreDocument(event)) }
        for download in batch.downloads { text += try Self.event("download", download) }
        guard let news = batch.resources else { return text }
        if news.isIncomplete, only == nil { text += try Self.event("many", NothingDocument()) }
        return text + (try await states(of: news.resources.filter { only == nil || $0 == only }))
    }

    /// What the vault holds of resources now.
    private func states(of resources: Set<ResourceID>) async throws -> String {
        var text = ""
        for id in resources {
            do {
                if let summary = try await vault.summary(of: id) {
                    let change = ChangeDocument(id: id.hex, resource: ResourceDocument(summary))
                    text += try Self.event("resource", change)
                } else {
                    text += try Self.event("removed", GoneDocument(id: id.hex))
                }
            } catch is VaultError {
                // A row that cannot be read is told of by those who ask for it.
            }
        }
        return text
    }

    private static let comment = ":\n\n"

    private static func event(_ name: String, _ document: some Encodable) throws -> String {
        "event: \(name)\ndata: \(try JSONText.of(document))\n\n"
    }

    /// The writer runs ahead of the connection: what it has not taken is waited for.
    private func waitForClient() async throws {
        while channel.isActive, try await channel.getOption(.bufferedWritableBytes).get() > Self.mostUnread {
            try await Task.sleep(for: Self.interval)
        }
    }
}
