import NIOCore
import Synchronization

/// One client's connection, as far as it matters who has to go: what it is doing, and since when it stands still.
///
/// Its event loop writes, whoever needs room reads.
final class ClientConnection: Sendable {
    let channel: any Channel
    /// Whose it is; nil for a client of this machine.
    let peer: PeerAddress?
    private let phase = Atomic(ConnectionLimits.Phase.new.rawValue)
    /// Nanoseconds of the monotonic clock.
    private let moved = Atomic(NIODeadline.now().uptimeNanoseconds)

    init(_ channel: any Channel) {
        self.channel = channel
        peer = PeerAddress(channel.remoteAddress)
    }

    /// Something has gone on.
    func note(_ phase: ConnectionLimits.Phase) {
        self.phase.store(phase.rawValue, ordering: .relaxed)
        moved.store(NIODeadline.now().uptimeNanoseconds, ordering: .relaxed)
    }

    /// What it is doing, and for how long it has stood still.
    func standing(at now: NIODeadline) -> (phase: ConnectionLimits.Phase, still: Duration) {
        let still = Int64(clamping: now.uptimeNanoseconds) - Int64(clamping: moved.load(ordering: .relaxed))
        return (ConnectionLimits.Phase(rawValue: phase.load(ordering: .relaxed)) ?? .idle, .nanoseconds(max(0, still)))
    }
}
