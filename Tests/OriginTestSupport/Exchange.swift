import VaultModel

/// A request that an origin received, and how far its answer got.
package struct Exchange: Sendable {
    /// What the origin is doing with it.
    package enum Phase: Hashable, Sendable {
        /// Sending, or about to.
        case answering
        /// Waiting at a ``Gate``.
        case held
        /// Waiting for the client to take bytes: the socket's buffers are full.
        case blocked
        /// Done as scripted, be it to the end or to a scripted break.
        case done
        /// The client closed the connection, or the origin was stopped, before that.
        case abandoned
    }

    package let request: ScriptedRequest
    /// The connection it came by, from 0 in the order they were accepted.
    package let connection: Int
    package internal(set) var phase = Phase.answering
    /// Whether its connection has ended since, by whichever side.
    package internal(set) var isConnectionClosed = false
    /// The bytes of the body that the socket has taken.
    package internal(set) var bodyBytesSent: Int64 = 0
}
