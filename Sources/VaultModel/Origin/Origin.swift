/// Where remote bytes come from.
///
/// The vault's own is ``/MediaVault`` 's libcurl transport; another platform's transport, or a scripted one in a test,
/// stands in by this protocol.
public protocol Origin: Sendable {
    /// Sends a request and returns as soon as the head of the answer is there; the body follows as it is asked for.
    ///
    /// Cancelling the task ends the request promptly.
    ///
    /// - Throws: ``OriginFailure`` where no answer came; `CancellationError` where the task was cancelled.
    func send(_ request: OriginRequest) async throws -> any OriginResponse
}

/// An answer whose head has come and whose body arrives.
///
/// One reader at a time. Letting go of the last reference cancels what is left of the transfer.
public protocol OriginResponse: AnyObject, Sendable {
    /// The head of the answer.
    var head: OriginHead { get }

    /// The next bytes of the body, at least one and rarely more than 64 KiB; nil at its proper end.
    ///
    /// Nothing more is read from the network than a bounded buffer while nobody asks (back-pressure).
    ///
    /// - Throws: ``OriginFailure`` where the body breaks off; `CancellationError` where the task was cancelled.
    func nextBytes() async throws -> [UInt8]?

    /// Ends the transfer now. ``nextBytes()`` throws `CancellationError` from then on.
    func cancel()

    /// Ends the transfer now, and gives the bytes that had come and nobody had asked for: what was received is kept.
    func end() -> [[UInt8]]
}
