import MediaVault
import VaultModel

/// The downloads that a service runs, whoever asked for them, and those that ended last.
final class DownloadRegistry: Sendable {
    typealias ID = Int

    fileprivate struct Entry {
        var document: DownloadDocument
        /// When it last changed: changes are counted.
        var revision: Int
        var task: Task<Void, any Error>?
        /// Whether somebody has asked for its end.
        var isEnding = false
    }

    fileprivate struct State {
        var entries: [ID: Entry] = [:]
        var lastID = 0
        var revision = 0
        var listeners: [Int: @Sendable () -> Void] = [:]
        var lastListener = 0
    }

    private let state = Locked(State())

    /// How many that ended are remembered.
    static let mostEnded = 64

    // MARK: Running

    /// Notes a download that begins.
    func begin(_ url: String) -> ID {
        change { state in
            state.lastID += 1
            let document = DownloadDocument(id: state.lastID, url: url)
            state.entries[state.lastID] = Entry(document: document, revision: state.revision)
            return state.lastID
        }
    }

    /// Runs a download that was noted; ends with whoever waits for it, or when somebody ends it here.
    ///
    /// - Throws: what it ended with; ``VaultError`` with code `closed` where somebody ended it.
    func run(
        _ id: ID, _ act: @escaping @Sendable (_ tell: @Sendable (ProgressDocument) -> Void) async throws -> Void
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
    /// - Returns: false where none of that name runs.
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

    private func note(_ progress: ProgressDocument, of id: ID) {
        change { state in
            state.entries[id]?.document.held = progress.held
            state.entries[id]?.document.size = OrNull(progress.total)
            state.entries[id]?.revision = state.revision
        }
    }

    private func finish(_ id: ID, _ result: Result<Void, any Error>) throws {
        let wasEnded = change { state in
            let wasEnded = state.entries[id]?.isEnding ?? false
            let (end, problem) = Self.end(of: result, wasEnded: wasEnded)
            state.entries[id]?.document.state = end
            state.entries[id]?.document.problem = OrNull(problem)
            state.entries[id]?.revision = state.revision
            state.entries[id]?.task = nil
            state.forgetOldest()
            return wasEnded
        }
        if case .failure(is CancellationError) = result, wasEnded {
            throw VaultError(.closed, "the download was ended; what was received is kept: begin it again to go on")
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

    // MARK: Looking

    /// All of them, those that began last first.
    var all: [DownloadDocument] {
        state.withLock { $0.entries.values.map(\.document) }.sorted { $0.id > $1.id }
    }

    /// Those that have changed since a revision, and the revision that is told with them.
    func changes(since revision: Int) -> (downloads: [DownloadDocument], revision: Int) {
        state.withLock { state in
            let changed = state.entries.values.filter { $0.revision > revision }.map(\.document)
            return (changed.sorted { $0.id < $1.id }, state.revision)
        }
    }

    /// Begins to tell somebody that something has changed.
    func listen(_ wake: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.lastListener += 1
            state.listeners[state.lastListener] = wake
            return state.lastListener
        }
    }

    func stopListening(_ listener: Int) { state.withLock { $0.listeners[listener] = nil } }

    /// Changes the state, and tells those who listen.
    private func change<Value>(_ body: (inout State) -> Value) -> Value {
        let (value, wakes) = state.withLock { state in
            state.revision += 1
            return (body(&state), Array(state.listeners.values))
        }
        for wake in wakes { wake() }
        return value
    }
}

extension DownloadRegistry.State {
    fileprivate mutating func forgetOldest() {
        let ended = entries.values.filter { $0.document.state != .running }.map(\.document.id).sorted()
        for id in ended.dropLast(DownloadRegistry.mostEnded) { entries[id] = nil }
    }
}
