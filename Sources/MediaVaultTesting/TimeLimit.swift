/// A limit on the time of work that may not end when its task is cancelled.
enum TimeLimit {
    /// Returns the outcome of the work; nil if it takes longer than the limit, or if the caller's task is cancelled.
    /// The work's task is then cancelled, and not waited for.
    static func run<Value: Sendable>(
        _ limit: Duration, _ work: @escaping @Sendable () async -> Value
    ) async -> Value? {
        let (outcomes, continuation) = AsyncStream.makeStream(of: Value?.self)
        let task = Task { continuation.yield(await work()) }
        let timer = Task {
            try await Task.sleep(for: limit)
            continuation.yield(nil)
        }
        defer {
            task.cancel()
            timer.cancel()
        }
        for await outcome in outcomes { return outcome }
        return nil
    }
}
