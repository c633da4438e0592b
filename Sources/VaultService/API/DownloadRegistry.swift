import MediaVault
import VaultModel

/// The downloads that a service's clients wait for, both the running ones and the most recently ended. Queued downloads
/// are not registered here.
final class DownloadRegistry: Sendable {
    typealias Number = Int

    fileprivate struct Entry {
        var document: DownloadDocument
        /// The revision of the registry at which the download last changed.
        var revision: Int
        var task: Task<Void, any Error>?
        /// Whether ``end(_:)`` was called for the download's title.
        var isEnding = false
    }

    fileprivate struct State {
        var entries: [Number: Entry] = [:]
        var last = 0
        var revision = 0
        var listeners = NumberedSet<@Sendable () -> Void>()
    }

    private let state = Locked(State())

    /// The maximum number of ended downloads that are remembered.
    static let maxEnded = 64

    // MARK: Running

    /// Registers a download that is about to run.
    func begin(_ id: TitleID, _ url: String, contentID: String? = nil) -> Number {
        change { state in
            state.last += 1
            // Earlier downloads of the title are forgotten, so that a title that is fetched again is not listed as
            // ended.
            state.forgetEnded(of: [id])
            let document = DownloadDocument(id: id, url: url, contentID: contentID)
            state.entries[state.last] = Entry(document: document, revision: state.revision)
            return state.last
        }
    }

    /// Runs a registered download until it is complete, its task is cancelled, or ``end(_:)`` is called for its title.
    ///
    /// - Throws: the error that ended the download, or ``VaultError`` with code `closed` if ``end(_:)`` ended it.
    func run(
        _ number: Number, _ act: @escaping @Sendable (_ tell: @Sendable (DownloadProgress) -> Void) async throws -> Void
    ) async throws {
        let task = Task { try await act { self.note($0, of: number) } }
        let isEnding = state.withLock { state in
            state.entries[number]?.task = task
            return state.entries[number]?.isEnding ?? false
        }
        if isEnding { task.cancel() }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        try finish(number, result)
    }

    /// Ends the running downloads of a title.
    ///
    /// - Returns: whether any download of the title was running.
    func end(_ id: TitleID) -> Bool {
        let tasks = state.withLock { state in
            let numbers = state.entries.filter { $0.value.document.id == id && $0.value.document.state == .running }
                .keys
            return numbers.map { number -> Task<Void, any Error>? in
                state.entries[number]?.isEnding = true
                return state.entries[number]?.task
            }
        }
        for task in tasks { task?.cancel() }
        return !tasks.isEmpty
    }

    /// Forgets the ended downloads of titles that were removed or are now in the queue.
    func forgetEnded(of titles: Set<TitleID>) { change { $0.forgetEnded(of: titles) } }

    /// Forgets all downloads. They have ended, because the vault is locked.
    func forgetAll() { change { $0.entries = [:] } }

    private func note(_ progress: DownloadProgress, of number: Number) {
        change { state in
            state.entries[number]?.document.held = progress.held
            state.entries[number]?.document.size = progress.total
            state.entries[number]?.revision = state.revision
        }
    }

    private func finish(_ number: Number, _ result: Result<Void, any Error>) throws {
        let wasEnded = change { state in
            let wasEnded = state.entries[number]?.isEnding ?? false
            let (end, problem) = Self.end(of: result, wasEnded: wasEnded)
            state.entries[number]?.document.state = end
            state.entries[number]?.document.problem = problem
            state.entries[number]?.revision = state.revision
            state.entries[number]?.task = nil
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
    ) -> (DownloadSnapshot.State, ProblemDocument?) {
        switch result {
        case .success: (.done, nil)
        case .failure(let error as VaultError) where !wasEnded: (.failed, APIProblem.document(error))
        case .failure: (.ended, nil)
        }
    }

    // MARK: Observing

    /// All downloads, the most recently started first.
    var all: [DownloadDocument] {
        state.withLock { $0.entries.sorted { $0.key > $1.key }.map(\.value.document) }
    }

    /// The number of running downloads.
    var runningCount: Int { state.withLock { $0.entries.values.count { $0.document.state == .running } } }

    /// Returns the downloads that have changed since a revision, in the order in which they began, and the current
    /// revision.
    func changes(since revision: Int) -> (downloads: [DownloadDocument], revision: Int) {
        state.withLock { state in
            let changed = state.entries.filter { $0.value.revision > revision }.sorted { $0.key < $1.key }
            return (changed.map(\.value.document), state.revision)
        }
    }

    /// Registers a closure to call after each change.
    ///
    /// - Returns: the id to pass to ``stopListening(_:)``.
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
    fileprivate mutating func forgetEnded(of titles: Set<TitleID>) {
        entries = entries.filter { $0.value.document.state == .running || !titles.contains($0.value.document.id) }
    }

    fileprivate mutating func forgetOldest() {
        let ended = entries.filter { $0.value.document.state != .running }.keys.sorted()
        for number in ended.dropLast(DownloadRegistry.maxEnded) { entries[number] = nil }
    }
}
