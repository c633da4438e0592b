package import VaultModel

/// The libcurl transport for HTTP and HTTPS origins, which runs on its own thread.
///
/// Connections are kept and reused. A transfer whose reader is slow is paused when 128 KiB are buffered, so that memory
/// stays bounded regardless of the size of the media.
package final class CurlOrigin: Origin {
    private let loop: CurlLoop

    /// Starts the thread. It ends with ``shutdown()``, or when the last reference to this object and its responses is
    /// released.
    package init(configuration: CurlConfiguration) {
        loop = CurlLoop(configuration)
    }

    deinit { loop.post(.stop) }

    /// Sends a request, follows redirects, and returns when the final head has arrived.
    ///
    /// - Throws: ``OriginFailure`` if no response came; `CancellationError` if the task was cancelled; ``VaultError``
    ///   with code ``VaultError/Code/invalidArgument`` if the request's fields cannot be sent.
    package func send(_ request: OriginRequest) async throws -> any OriginResponse {
        let transfer = try Transfer(request, on: loop)
        return CurlResponse(head: try await transfer.start(), transfer: transfer, origin: self)
    }

    /// Ends all transfers and the thread, and returns when they have ended. Later requests fail.
    package func shutdown() async {
        loop.post(.stop)
        await loop.waitForEnd()
    }
}

/// A response whose body libcurl receives.
final class CurlResponse: OriginResponse {
    let head: OriginHead
    let transfer: Transfer
    /// The transport, whose thread this reference keeps running for as long as the body may be read.
    private let origin: CurlOrigin

    init(head: OriginHead, transfer: Transfer, origin: CurlOrigin) {
        self.head = head
        self.transfer = transfer
        self.origin = origin
    }

    deinit { transfer.cancel() }

    func nextBytes() async throws -> [UInt8]? { try await transfer.bytes() }

    func cancel() { transfer.cancel() }

    func end() -> [[UInt8]] { transfer.end() }
}

/// One request in progress, shared by the reader that waits for the response and the loop that performs the request.
final class Transfer: Sendable {
    typealias State = TransferState<CheckedContinuation<Void, Never>>

    /// The maximum number of bytes buffered for a reader.
    static let bufferLimit = 128 * 1024

    let request: OriginRequest
    let fields: RequestFields
    private let loop: CurlLoop
    private let state = Locked(State(limit: bufferLimit))

    /// Prepares a transfer without starting it.
    ///
    /// - Throws: ``VaultError`` if the request cannot be sent.
    init(_ request: OriginRequest, on loop: CurlLoop) throws(VaultError) {
        self.request = request
        self.fields = try RequestFields(request)
        self.loop = loop
    }

    // MARK: For the reader

    /// Starts the transfer and waits for the head of its response.
    func start() async throws -> OriginHead {
        try Task.checkCancellation()
        loop.post(.start(self))
        return try await next { $0.takeHead() }
    }

    /// Waits for the next bytes of the body and returns them; nil at the body's end.
    func bytes() async throws -> [UInt8]? {
        try await next { $0.takeBytes() }
    }

    /// Ends the transfer in any state.
    func cancel() {
        let (isRunning, waiters) = state.withLock { ($0.cancel(), $0.takeWaiters()) }
        if isRunning { loop.post(.remove(self)) }
        for waiter in waiters { waiter.resume() }
    }

    /// Ends the transfer and returns the received bytes that the reader has not taken.
    func end() -> [[UInt8]] {
        cancel()
        return state.withLock { $0.takeUnread() }
    }

    /// Waits until the state has a value or an error. Cancelling the task ends the transfer.
    private func next<Value: Sendable>(_ ask: @Sendable (inout State) -> State.Step<Value>) async throws -> Value {
        try await withTaskCancellationHandler {
            while true {
                switch state.withLock({ ask(&$0) }) {
                case .ready(let value, let resumes):
                    if resumes { loop.post(.resume(self)) }
                    return value
                case .failed(let error): throw error
                case .wait: await waitForNews()
                }
            }
        } onCancel: {
            cancel()
        }
    }

    private func waitForNews() async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.park(continuation) }?.resume()
        }
    }

    // MARK: For the loop

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func receive(head: OriginHead) { state.withLock { $0.receive(head: head) } }

    func receive(_ bytes: Span<UInt8>) -> State.Reception {
        state.withLock { $0.receive(bytes) }
    }

    /// Wakes the reader if anything has changed for it; the loop calls this once per iteration.
    func deliver() {
        for waiter in state.withLock({ $0.takeWaiters() }) { waiter.resume() }
    }

    /// Ends the transfer, successfully if `failure` is nil, and wakes the reader.
    func finish(_ failure: OriginFailure?) {
        state.withLock { $0.finish(failure) }
        deliver()
    }

    // MARK: For tests

    /// The number of bytes buffered for the reader, and whether the transfer is paused because the buffer is full.
    var backlog: (bytes: Int, isPaused: Bool) { state.withLock { ($0.bufferedBytes, $0.isPaused) } }
}
