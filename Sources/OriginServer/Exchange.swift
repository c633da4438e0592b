import VaultModel

/// A request that an origin received, and the progress of its answer.
package struct Exchange: Sendable {
    /// The state of the answer at the origin.
    package enum Phase: Hashable, Sendable {
        /// Sending, or about to.
        case answering
        /// Waiting at a ``Gate``.
        case held
        /// Waiting for the client to read: the socket's buffers are full.
        case blocked
        /// Done as scripted, either to the end or to a scripted break.
        case done
        /// The client closed the connection, or the origin was stopped, before the answer was done.
        case abandoned
    }

    package let request: ScriptedRequest
    /// The request's connection, numbered from 0 in the order of acceptance.
    package let connection: Int
    package internal(set) var phase = Phase.answering
    /// Whether its connection has ended since, closed by either side.
    package internal(set) var isConnectionClosed = false
    /// The number of body bytes that the socket has accepted.
    package internal(set) var bodyBytesSent: Int64 = 0
}
