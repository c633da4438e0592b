/// A long operation on a vault, as the sequence of its progress.
///
/// The operation begins when the sequence is iterated, and runs in parallel with all other use of the vault. A loop
/// that is slower than the operation gets only the newest progress. Leaving the loop, or cancelling its task, ends the
/// operation; completed work is kept.
public struct ProgressSequence<Progress: Sendable>: AsyncSequence, Sendable {
    /// One progress report.
    public typealias Element = Progress

    /// A function that reports progress.
    typealias Tell = @Sendable (Progress) -> Void

    private let tasks: BackgroundTasks?
    private let work: @Sendable (@escaping Tell) async throws -> Void

    /// Describes an operation.
    ///
    /// - Parameters:
    ///   - tasks: the tasks that must end before the vault closes; nil for an operation that fails once the vault has
    ///     closed.
    ///   - work: the operation.
    init(among tasks: BackgroundTasks?, work: @escaping @Sendable (@escaping Tell) async throws -> Void) {
        self.tasks = tasks
        self.work = work
    }

    /// Begins the operation.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Progress.self, bufferingPolicy: .bufferingNewest(1))
        let run: @Sendable () async -> Void = { [work] in
            do {
                try await work { continuation.yield($0) }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        let task = tasks?.begin(run) ?? Task { await run() }
        continuation.onTermination = { _ in task.cancel() }
        return Iterator(stream: stream.makeAsyncIterator(), task: task)
    }

    /// Delivers the progress.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var stream: AsyncThrowingStream<Progress, any Error>.Iterator
        fileprivate let task: Task<Void, Never>

        /// Returns the current progress; nil at the end.
        ///
        /// - Throws: the operation's error; `CancellationError` if the task was cancelled.
        public mutating func next() async throws -> Progress? {
            if let progress = try await stream.next(isolation: #isolation) { return progress }
            // After cancellation the stream ends before the work does; wait for it, so that nothing changes after
            // returning.
            await task.value
            try Task.checkCancellation()
            return nil
        }
    }
}
