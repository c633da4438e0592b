import Hummingbird
import MediaVault
import NIOCore
import ServiceLifecycle
import VaultModel

/// A stream of server-sent events that reports changes to one client (WHATWG HTML, §9.2).
///
/// The feed ends when the client disconnects, the service ends, or the token that requested it stops being valid. A
/// client that reads slowly gets fewer, combined events.
struct EventFeed: StreamedBody {
    let vault: Vault
    let downloads: DownloadRegistry
    /// The only resource whose changes are reported; nil for all resources.
    let only: ResourceID?
    /// The client's access; nil if the client uses the control socket, or a ticket created there.
    let access: TokenAccess?
    /// The sign-in era in which a ticket from the control socket was created; nil if the client uses no such ticket.
    var era: SignInEra?
    /// The viewer who requested the feed, and who sees only shared titles; nil for the owner.
    let viewer: ViewerID?
    let channel: any Channel

    /// The shortest interval between two batches of events.
    private static let interval: Duration = .milliseconds(100)
    /// The number of bytes that may be waiting to be sent to the client before the feed pauses.
    private static let maxUnread = 64 << 10

    @concurrent
    func write(to writer: inout any ResponseBodyWriter, counting sent: inout Int64) async throws {
        let news = EventAccumulator(vault, downloads)
        let watching = DisconnectWatch(channel).begin(while: { true }, onDisconnect: { news.finish() })
        defer { watching.end() }
        try await withTaskCancellationOrGracefulShutdownHandler {
            // The token may have been revoked after it was checked and before the feed began listening for changes.
            guard isAllowed else { return }
            var text = Self.comment
            // The titles that the viewer knows of. They are compared with the later ones to find titles that are newly
            // shared or no longer shared.
            var known = viewer.map { vault.viewers.titles(sharedWith: $0) } ?? nil
            if let only { text += try await states(of: [only]) }
            while true {
                // An empty write would end the body.
                if !text.isEmpty { try await writer.write(ByteBuffer(string: text)) }
                sent += Int64(text.utf8.count)
                try await Task.sleep(for: Self.interval)
                try await waitForClient()
                guard let batch = await news.next(), isAllowed else { return }
                guard let viewer else {
                    text = try await events(of: batch)
                    continue
                }
                let shared = vault.viewers.titles(sharedWith: viewer)
                text = try await events(of: batch, for: viewer, knowing: known, of: shared)
                known = shared
            }
        } onCancelOrGracefulShutdown: {
            news.finish()
        }
        try Task.checkCancellation()
    }

    private var isAllowed: Bool {
        guard viewer.map({ vault.viewers.viewer($0) != nil }) ?? true else { return false }
        guard era.map({ vault.tokens.isInForce($0, for: nil) }) ?? true else { return false }
        return access.map { vault.tokens.isValid($0, now: vault.now) } ?? true
    }

    private func events(of batch: EventAccumulator.Batch) async throws -> String {
        var text = batch.isHeartbeatDue ? Self.comment : ""
        for event in batch.store { text += try Self.event("store", StoreDocument(event)) }
        for download in batch.downloads { text += try Self.event("download", download) }
        let isIncomplete = batch.resources?.isIncomplete ?? false
        if batch.hasMoreDownloads || (isIncomplete && only == nil) { text += try Self.event("many", EmptyDocument()) }
        guard let news = batch.resources else { return text }
        return text + (try await states(of: subjects(of: news.resources)))
    }

    /// Returns the resources to report to the client, which are titles. A part is reported only if the client named it.
    func subjects(of changed: Set<ResourceID>) async throws -> Set<ResourceID> {
        var subjects: Set<ResourceID> = []
        for id in changed where id != only { subjects.formUnion(try await vault.titles.containing(id)) }
        guard let only else { return subjects }
        return changed.contains(only) || subjects.contains(only) ? [only] : []
    }

    /// Returns events that report the current state of resources.
    private func states(of resources: Set<ResourceID>) async throws -> String {
        var text = ""
        for id in resources {
            do {
                let name = try await vault.titles.titleID(of: id)
                if let summary = try await vault.titles.summary(of: id) {
                    text += try Self.event("resource", ChangeDocument(id: name, resource: summary))
                } else {
                    text += try Self.event("removed", RemovedDocument(id: name))
                }
            } catch is VaultError {
                // Nothing is sent for a row that cannot be read. Clients learn of the failure when they request the
                // resource.
            }
        }
        return text
    }

    static let comment = ":\n\n"

    static func event(_ name: String, _ document: some Encodable) throws -> String {
        "event: \(name)\ndata: \(try JSONText.of(document))\n\n"
    }

    /// Waits until the connection has sent most of the written bytes, because the writer does not wait for the
    /// connection.
    private func waitForClient() async throws {
        while channel.isActive, try await channel.getOption(.bufferedWritableBytes).get() > Self.maxUnread {
            try await Task.sleep(for: Self.interval)
        }
    }
}

/// Accumulates and combines events until they are sent, so that a slow client does not use more and more memory.
final class EventAccumulator: Sendable {
    /// The events to send together.
    struct Batch: Sendable {
        var store: [StoreEvent] = []
        var downloads: [DownloadDocument] = []
        /// Whether so many queue entries have changed that the batch does not report them.
        var hasMoreDownloads = false
        var resources: ResourceChanges.News?
        /// Whether a heartbeat is due.
        var isHeartbeatDue = false
    }

    private struct State {
        var store: [StoreEvent] = []
        var isHeartbeatDue = false
        /// The downloads that were running when the feed began; empty once they have been reported.
        var running: [DownloadDocument] = []
        /// The revision up to which download changes have been reported.
        ///
        /// Downloads that ended before the feed began are not reported.
        var revision: Int
        /// The revision up to which queue changes have been reported.
        var queueRevision: Int
    }

    private let vault: Vault
    private let downloads: DownloadRegistry
    private let state: Locked<State>
    private let wakes: AsyncStream<Void>
    private let waking: AsyncStream<Void>.Continuation
    private let changes: ResourceChanges
    private let listener: Int
    private let grantListeners: (grants: Int, keys: Int)
    private let queueListener: Int
    private let viewerListener: Int
    private let helpers: Locked<[Task<Void, any Error>]>

    private static let heartbeat: Duration = .seconds(15)
    private static let maxStoreEvents = 16
    /// The maximum number of queue entries that one batch reports.
    private static let maxQueued = 256

    /// Starts listening for changes.
    init(_ vault: Vault, _ downloads: DownloadRegistry) {
        self.vault = vault
        self.downloads = downloads
        let (wakes, waking) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (self.wakes, self.waking) = (wakes, waking)
        changes = vault.titles.changes { waking.yield() }
        listener = downloads.listen { waking.yield() }
        // A change may mean that the client's token has been revoked.
        grantListeners = vault.access.listenToGrants { waking.yield() }
        queueListener = vault.queue.listen { waking.yield() }
        // A change may mean that other titles are now shared with the client.
        viewerListener = vault.viewers.listen { waking.yield() }
        let (known, queue) = (downloads.changes(since: 0), vault.queue.running)
        let running = known.downloads.filter { $0.state == .running } + queue.downloads.map(DownloadDocument.init)
        state = Locked(State(running: running, revision: known.revision, queueRevision: queue.revision))
        helpers = Locked([])
        let events = vault.space.events()
        let telling: Task<Void, any Error> = Task { [weak self] in
            for await event in events { self?.note { $0.store = ($0.store + [event]).suffix(Self.maxStoreEvents) } }
        }
        let heartbeats = Task { [weak self] in
            while true {
                try await Task.sleep(for: Self.heartbeat)
                self?.note { $0.isHeartbeatDue = true }
            }
        }
        helpers.withLock { $0 = [telling, heartbeats] }
        // The downloads that are already running are reported first.
        waking.yield()
    }

    deinit {
        downloads.stopListening(listener)
        vault.access.stopListeningToGrants(grantListeners)
        vault.queue.stopListening(queueListener)
        vault.viewers.stopListening(viewerListener)
        for helper in helpers.withLock(\.self) { helper.cancel() }
    }

    /// Ends the feed.
    func finish() { waking.finish() }

    /// Waits for events, and returns them; returns nil once the feed has ended.
    func next() async -> Batch? {
        for await _ in wakes { return take() }
        return nil
    }

    private func note(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
        waking.yield()
    }

    private func take() -> Batch {
        state.withLock { state in
            let (attended, revision) = downloads.changes(since: state.revision)
            let queue = vault.queue.changes(since: state.queueRevision, limit: Self.maxQueued)
            let changed = attended + (queue.downloads ?? []).map(DownloadDocument.init)
            let told = state.running.filter { was in
                !changed.contains { $0.id == was.id && $0.queued == was.queued }
            }
            defer { state = State(revision: revision, queueRevision: queue.revision) }
            return Batch(
                store: state.store, downloads: told + changed, hasMoreDownloads: queue.downloads == nil,
                resources: changes.take(), isHeartbeatDue: state.isHeartbeatDue)
        }
    }
}
