import MediaVault
import VaultModel

/// The running and most recently ended downloads of a service, of all clients.
final class DownloadRegistry: Sendable {
    typealias ID = Int

    fileprivate struct Entry {
        var document: DownloadDocument
        /// The number of its last change; each change gets the next number.
        var revision: Int
        var task: Task<Void, any Error>?
        /// Whether ``end(_:)`` was called for it.
        var isEnding = false
    }

    fileprivate struct State {
        var entries: [ID: Entry] = [:]
        var lastID = 0
        var revision = 0
        var listeners = NumberedSet<@Sendable () -> Void>()
    }

    private let state = Locked(State())

    /// How many ended downloads are remembered.
    static let maxEnded = 64

    // MARK: Running

    /// Registers a download that begins.
    func begin(_ url: String) -> ID {
        change { state in
            state.lastID += 1
            let document = DownloadDocument(id: state.lastID, url: url)
            state.entries[state.lastID] = Entry(document: document, revision: state.revision)
            return state.lastID
        }
    }

    /// Runs a registered download, until it is complete, its task is cancelled, or ``end(_:)`` is called.
    ///
    /// - Throws: the error that ended it; ``VaultError`` with code `closed` if ``end(_:)`` ended it.
    func run(
        _ id: ID, _ act: @escaping @Sendable (_ tell: @Sendable (DownloadProgress) -> Void) async throws -> Void
    ) async throws {
        let task = Task { try await act { self.note($0, of: id) } }
        let isEnding = state.withLock { state in
            state.entries[id]?.task = task
            return state.entries[id]?.isEnding ?? false
        }
        if isEnding { task.cancel() }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        try finish(id, result)
    }

    /// Ends a download.
    ///
    /// - Returns: false if no download with this id is running.
    func end(_ id: ID) -> Bool {
        let task = state.withLock { state -> Task<Void, any Error>?? in
            guard let entry = state.entries[id], entry.document.state == .running else { return nil }
            state.entries[id]?.isEnding = true
            return .some(entry.task)
        }
        guard let task else { return false }
        task?.cancel()
        return true
    }

    private func note(_ progress: DownloadProgress, of id: ID) {
        change { state in
            state.entries[id]?.document.held = progress.held
            state.entries[id]?.document.size = progress.total
            state.entries[id]?.revision = state.revision
        }
    }

    private func finish(_ id: ID, _ result: Result<Void, any Error>) throws {
        let wasEnded = change { state in
            let wasEnded = state.entries[id]?.isEnding ?? false
            let (end, problem) = Self.end(of: result, wasEnded: wasEnded)
            state.entries[id]?.document.state = end
            state.entries[id]?.document.problem = problem
            state.entries[id]?.revision = state.revision
            state.entries[id]?.task = nil
            state.forgetOldest()
            return wasEnded
        }
        if case .failure(is CancellationError) = result, wasEnded {
            throw VaultError(
                .closed, "the download was ended; received data is kept, so start it again to continue")
        }
        try result.get()
    }

    private static func end(
        of result: Result<Void, any Error>, wasEnded: Bool
    ) -> (DownloadDocument.State, ProblemDocument?) {
        switch result {
        case .success: (.done, nil)
        case .failure(let error as VaultError) where !wasEnded: (.failed, APIProblem.document(error))
        case .failure: (.ended, nil)
        }
    }

    // MARK: Observing

    /// All downloads, the most recently started first.
    var all: [DownloadDocument] {
        state.withLock { $0.entries.values.map(\.document) }.sorted { $0.id > $1.id }
    }

    /// Returns the downloads that have changed since a revision, and the current revision.
    func changes(since revision: Int) -> (downloads: [DownloadDocument], revision: Int) {
        state.withLock { state in
            let changed = state.entries.values.filter { $0.revision > revision }.map(\.document)
            return (changed.sorted { $0.id < $1.id }, state.revision)
        }
    }

    /// Registers a closure that is called after each change.
    ///
    /// - Returns: the id for ``stopListening(_:)``.
    func listen(_ wake: @escaping @Sendable () -> Void) -> Int {
        state.withLock { $0.listeners.add(wake) }
    }

    func stopListening(_ listener: Int) { state.withLock { $0.listeners.remove(listener) } }

    /// Changes the state, and notifies the listeners.
    private func change<Value>(_ body: (inout State) -> Value) -> Value {
        let (value, wakes) = state.withLock { state in
            state.revision += 1
            return (body(&state), state.listeners.all)
        }
        for wake in wakes { wake() }
        return value
    }
}

extension DownloadRegistry.State {
    fileprivate mutating func forgetOldest() {
        let ended = entries.values.filter { $0.document.state != .running }.map(\.document.id).sorted()
        for id in ended.dropLast(DownloadRegistry.maxEnded) { entries[id] = nil }
    }
}
