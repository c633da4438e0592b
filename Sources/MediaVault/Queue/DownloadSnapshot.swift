import VaultCache
public import VaultModel
import VaultStorage

/// A snapshot of an entry in the download queue.
public struct DownloadSnapshot: Sendable {
    /// The state of an entry, as reported to users.
    public enum State: String, CaseIterable, Codable, Sendable {
        /// The entry waits for its turn, for its next attempt, or for the hours in which the queue runs.
        case waiting
        case running
        /// The entry waits until it is resumed.
        case paused
        /// The entry failed permanently, and waits until it is retried or cancelled.
        case failed
        /// The title is completely held; the entry is no longer in the queue.
        case done
        /// The entry was cancelled; it is no longer in the queue.
        case ended
    }

    /// The entry's own id. In rare cases, several entries share a title id.
    public let download: DownloadID
    /// The id of the entry's title.
    public let title: TitleID
    /// The URL that the title is downloaded from. Its query may contain a token, so it belongs in no log.
    public let url: String
    /// The caller's own name for the title; nil if it has none.
    public let contentID: String?
    /// The name that the title is to get, or else the one that it has; nil if there is none.
    public let name: String?
    /// What the entry is doing.
    public let state: State
    /// The entry's progress; nil if it has not run since the vault was opened.
    public let progress: DownloadProgress?
    /// When the entry was queued.
    public let added: Timestamp
    /// The number of consecutive temporary failures.
    public let attempts: Int
    /// When the entry will be retried; nil if it is not waiting for a retry.
    public let nextAttempt: Timestamp?
    /// Why the last attempt failed; nil if it did not.
    public let failure: VaultError?

    init(_ entry: DownloadList.Entry, _ state: State? = nil) {
        let queued = entry.download
        download = queued.id
        title = queued.title
        url = queued.order.url
        contentID = queued.order.contentID
        name = queued.order.name ?? entry.titleName
        self.state = state ?? State(queued.state)
        progress = entry.progress
        added = Timestamp(seconds: queued.added)
        attempts = Int(queued.attempts)
        nextAttempt = queued.notBefore.map { Timestamp(seconds: $0) }
        failure = queued.failure.map(VaultError.init)
    }
}

extension DownloadSnapshot.State {
    fileprivate init(_ state: QueuedDownload.State) {
        self =
            switch state {
            case .waiting: .waiting
            case .paused: .paused
            case .failed: .failed
            }
    }
}

extension DownloadSnapshot: CustomStringConvertible {
    /// The title's id and the state, without the URL, which may contain a token.
    public var description: String { "\(title), \(state)" }
}

/// The number of entries in each state of the download queue.
public struct DownloadCounts: Hashable, Codable, Sendable {
    /// The number of entries that wait.
    public var waiting = 0
    /// The number of entries that are being downloaded.
    public var running = 0
    /// The number of paused entries.
    public var paused = 0
    /// The number of entries that failed permanently.
    public var failed = 0
    /// The number of entries that no key opens; they never run.
    public var damaged = 0

    /// Creates the counts, which are 0 by default.
    public init(waiting: Int = 0, running: Int = 0, paused: Int = 0, failed: Int = 0, damaged: Int = 0) {
        (self.waiting, self.running, self.paused) = (waiting, running, paused)
        (self.failed, self.damaged) = (failed, damaged)
    }
}

/// An action that a person may take on entries of the download queue.
public enum DownloadAct: String, CaseIterable, Codable, Sendable {
    /// Keeps the entries from running until they are resumed.
    case pause
    /// Lets paused entries wait for their turn again.
    case resume
    /// Retries entries that have failed, or that wait for their next attempt.
    case retry
    /// Removes the entries from the queue; bytes that arrived stay in the vault.
    case cancel
    /// Removes those of the entries that failed. For the whole queue, entries that are done or were cancelled are no
    /// longer listed, either.
    case clear
    /// Moves the entries before all others.
    case first
    /// Moves the entries after all others.
    case last

    /// Returns an entry as the act changes it; nil if the act leaves it unchanged.
    ///
    /// - Parameter position: the new position for ``first`` and ``last``.
    func applied(to download: QueuedDownload, position: Int64) -> QueuedDownload? {
        var changed = download
        switch (self, download.state) {
        case (.pause, .waiting): changed.state = .paused
        case (.resume, .paused): changed.state = .waiting
        case (.retry, .failed): changed.state = .waiting
        case (.retry, .waiting) where download.notBefore != nil: break
        case (.first, _), (.last, _): changed.position = position
        default: return nil
        }
        if self == .retry || self == .resume { (changed.attempts, changed.notBefore) = (0, nil) }
        if self == .retry { changed.failure = nil }
        return changed
    }
}

/// The entries of the download queue to which an act applies.
public enum DownloadSelection: Hashable, Sendable {
    case all
    case titles([TitleID])
}

extension VaultError {
    /// Creates the error of an earlier attempt from the queue's record of it.
    fileprivate init(_ failure: QueuedDownload.Failure) {
        self.init(Code(name: failure.code) ?? .storage, failure.message)
        originStatus = failure.status.map { Int(clamping: $0) }
        if code == .notMedia { hint = message.hasSuffix(VaultError.feedAdvice) ? .followFeed : .anyType }
    }
}

extension QueuedDownload.Failure {
    init(_ error: VaultError) {
        self.init(
            code: error.code.description, message: error.message, status: error.originStatus.map { Int64($0) })
    }
}
