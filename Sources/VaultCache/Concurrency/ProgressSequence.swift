/// A long operation on a vault, represented as the sequence of its progress reports.
///
/// The operation begins when the sequence is iterated, and runs in parallel with all other use of the vault. A loop
/// that is slower than the operation gets only the newest report. Leaving the loop, or cancelling its task, ends the
/// operation; completed work is kept.
public struct ProgressSequence<Progress: Sendable>: AsyncSequence, Sendable {
    /// One progress report.
    public typealias Element = Progress

    /// A function that reports progress.
    package typealias Tell = @Sendable (Progress) -> Void

    private let tasks: BackgroundTasks?
    private let work: @Sendable (@escaping Tell) async throws -> Void

    /// Creates a sequence for an operation, without beginning it.
    ///
    /// - Parameters:
    ///   - tasks: the tasks that must end before the vault closes; nil for an operation that fails by itself once the
    ///     vault has closed.
    ///   - work: the operation.
    package init(among tasks: BackgroundTasks?, work: @escaping @Sendable (@escaping Tell) async throws -> Void) {
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

    /// Runs the operation to its end: the last progress report, or nil if there was none.
    ///
    /// - Throws: the operation's error; `CancellationError` if the task was cancelled.
    public var value: Progress? {
        get async throws {
            var last: Progress?
            for try await progress in self { last = progress }
            return last
        }
    }

    /// Delivers the progress reports.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var stream: AsyncThrowingStream<Progress, any Error>.Iterator
        fileprivate let task: Task<Void, Never>

        /// Returns the newest progress report, or nil at the end.
        ///
        /// - Throws: the operation's error; `CancellationError` if the task was cancelled.
        public mutating func next() async throws -> Progress? {
            if let progress = try await stream.next(isolation: #isolation) { return progress }
            // After a cancellation the stream ends before the work does. Waiting for the work ensures that nothing
            // changes after this function has returned.
            await task.value
            try Task.checkCancellation()
            return nil
        }
    }
}
