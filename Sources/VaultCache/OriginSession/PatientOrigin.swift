import VaultFetch
package import VaultModel

/// An app's own transport with a limit on its silence. A transport that neither answers nor fails would otherwise hold
/// up a reader forever.
///
/// The vault's own transport has a built-in limit.
package struct PatientOrigin: Origin {
    let origin: any Origin
    /// A function that returns once the transport has been silent for too long.
    let patience: @Sendable () async throws -> Void

    package init(_ origin: any Origin, limit: Duration) {
        self.init(origin) { try await Task.sleep(for: limit) }
    }

    init(_ origin: any Origin, patience: @escaping @Sendable () async throws -> Void) {
        (self.origin, self.patience) = (origin, patience)
    }

    package func send(_ request: OriginRequest) async throws -> any OriginResponse {
        let response = try await Silence.bounded(by: patience, .noResponse) { [origin] in
            try await origin.send(request)
        } late: {
            $0.cancel()
        }
        return Response(response, patience)
    }

    private final class Response: OriginResponse {
        private let response: any OriginResponse
        private let patience: @Sendable () async throws -> Void
        /// Whether the transport still owes bytes that nobody waits for any more, so that the offset of later bytes is
        /// unknown.
        private let hasGap = Locked(false)

        init(_ response: any OriginResponse, _ patience: @escaping @Sendable () async throws -> Void) {
            (self.response, self.patience) = (response, patience)
        }

        var head: OriginHead { response.head }

        func nextBytes() async throws -> [UInt8]? {
            do {
                return try await Silence.bounded(by: patience, .silent) { [response] in
                    try await response.nextBytes()
                } late: { _ in
                }
            } catch let failure as OriginFailure where failure == .silent {
                hasGap.withLock { $0 = true }
                response.cancel()
                throw failure
            }
        }

        func cancel() { response.cancel() }

        func end() -> [[UInt8]] {
            let rest = response.end()
            return hasGap.withLock { $0 } ? [] : rest
        }
    }
}

extension OriginFailure {
    fileprivate static let silent = OriginFailure(.interrupted, "it sent nothing for too long")
}

/// A race between work that may never end and a time limit; only the first outcome counts.
private final class Silence<Value: Sendable>: Sendable {
    private struct State {
        var outcome: Result<Value, any Error>?
        var waiter: CheckedContinuation<Value, any Error>?
    }

    private let state = Locked(State())

    /// Ends the wait; returns false if it had already ended.
    private func end(_ outcome: Result<Value, any Error>) -> Bool {
        let (isFirst, waiter) = state.withLock { state in
            guard state.outcome == nil else { return (false, nil as CheckedContinuation<Value, any Error>?) }
            state.outcome = outcome
            return (true, state.waiter)
        }
        waiter?.resume(with: outcome)
        return isFirst
    }

    private func wait(_ waiter: CheckedContinuation<Value, any Error>) {
        let outcome = state.withLock { state in
            if state.outcome == nil { state.waiter = waiter }
            return state.outcome
        }
        if let outcome { waiter.resume(with: outcome) }
    }

    /// Runs `work`, and throws `failure` if `patience` returns first. If the work succeeds after that, its value is
    /// passed to `late`.
    static func bounded(
        by patience: @escaping @Sendable () async throws -> Void, _ failure: OriginFailure,
        _ work: @escaping @Sendable () async throws -> Value, late: @escaping @Sendable (Value) -> Void
    ) async throws -> Value {
        let silence = Silence()
        let task = Task {
            let outcome: Result<Value, any Error>
            do { outcome = .success(try await work()) } catch { outcome = .failure(error) }
            if !silence.end(outcome), case .success(let value) = outcome { late(value) }
        }
        let timer = Task {
            try await patience()
            if silence.end(.failure(failure)) { task.cancel() }
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { silence.wait($0) }
        } onCancel: {
            task.cancel()
        }
    }
}
