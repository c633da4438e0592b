import VaultModel
import VaultStorage

/// The loader's view of one transfer that fills one gap.
///
/// It is a value, changed only under the loader's lock.
package struct FetchState {
    /// The phase of a transfer.
    enum Phase: Int, Comparable {
        /// The request is being made; the head of its answer has not arrived.
        case requesting
        /// The head was valid, and bytes are arriving.
        case receiving
        /// The transfer must end, but its bytes are kept. Readers that need more bytes start another fetch.
        case released
        /// No more bytes will come. The remaining ones are sealed, then the fetch is removed.
        case ended
        /// The transfer is over, but unstored bytes are kept for readers that have not taken them yet.
        case keptForReaders

        static func < (one: Phase, other: Phase) -> Bool { one.rawValue < other.rawValue }
    }

    /// Where a transfer's bytes go.
    enum Destination {
        /// Into the store, and to the readers.
        case store
        /// Only to the readers, because the store refuses bytes or the mode stores none.
        case readers
        /// Only to the readers that requested them, because the bytes belong to an earlier representation, or no
        /// validator shows that they belong to the one being read.
        case ownReaders
    }

    /// Identifies a fetch within its loader.
    package typealias ID = Int

    let id: ID
    /// The offset of the first byte wanted.
    private(set) var start: Int64
    /// One past the last byte wanted; `Int64.max` if the end is unknown. Adding another fetch may lower it.
    var end: Int64
    private(set) var phase = Phase.requesting
    /// Whether the fetch is extended to whole blocks, so that held ranges begin and end at block boundaries.
    var isExtendedToBlocks = false
    /// When an extended fetch lost its last reader; nil while it has a reader.
    var leftSince: ContinuousClock.Instant?
    /// The number of bytes requested, if the answer brings fewer than that and less than a block; nil otherwise.
    var requestedOfTinyAnswer: Int64?
    /// Whether an answer with another representation is rejected.
    var keepsRepresentation = false
    /// Where the fetch's bytes go.
    var destination = Destination.store
    /// The representation that the answer's bytes belong to; nil before the head arrives, or if the record has no
    /// representation.
    var representation: RepresentationID?
    /// The most recently received bytes.
    private(set) var recent: RecentBytes
    /// One past the last byte that the sealer has taken.
    var takenTo: Int64
    /// One past the last byte that is sealed in a segment or known to be held elsewhere.
    var sealedTo: Int64
    /// One past the last byte that passed through unstored before the store took bytes again.
    var unstoredTo: Int64 = 0
    /// The offset at which sealing was restarted after the disk was full; nil if it was not.
    var rewoundAt: Int64?
    /// The offset that the fastest reader has reached.
    var demand: Int64
    /// The offset that the slowest reader has reached, if no other transfer can bring that reader's bytes; otherwise
    /// `Int64.max`.
    var slowest = Int64.max
    /// One past the last byte of the range that the answer's head states; nil before the head arrives, or if it states
    /// no end.
    var statedEnd: Int64?
    /// Whether the body continued past the end that the head states, so that none of its bytes can be trusted.
    var hasWrongEnd = false
    /// Whether only the end of the body can prove that its bytes are those of the range, and that end has not been
    /// seen.
    var isUnproven = false
    /// The segments in which the fetch's bytes were sealed.
    var segments: Set<SegmentID> = []
    /// When the transfer began to wait for its readers or its sealer; nil while it is not waiting.
    var pausedSince: ContinuousClock.Instant?
    /// Whether the transfer has waited so long for its readers that the origin may have dropped the connection.
    var hasStoodStill = false
    /// When the last byte arrived.
    var lastByte: ContinuousClock.Instant
    /// Whether bytes have arrived since the sealer was last told to close its segment.
    var isDirty = false
    /// Whether the sealer must close the segment that it is writing.
    var wantsFlush = false
    /// Whether the sealer is waiting for bytes that another fetch is to seal.
    var waitsForOther = false
    var receiverSignal = WakeFlag()
    var sealerSignal = WakeFlag()

    /// How far ahead of the fastest reader the transfer takes bytes from the network, in bytes.
    ///
    /// The window stays as small as a player needs, and grows only if a reader takes bytes faster than one window at a
    /// time brings them.
    private(set) var window = leastWindow
    /// Whether the window has held the receiver back since the window last grew.
    private var wasHeldBack = false

    static let leastWindow: Int64 = 64 << 10
    private static let mostWindow: Int64 = 1 << 20
    /// How far behind the fastest reader, in bytes, received bytes are kept for a reader that no other fetch can serve.
    static let mostBehind: Int64 = 4 << 20
    /// The divisor that limits the window to 1/32 of the bytes that readers have taken, because sockets buffer
    /// megabytes before a player's pace shows.
    private static let windowShare: Int64 = 32
    /// The number of unsealed bytes that wakes the sealer: one block.
    static let sealingBatch: Int64 = 32 << 10
    /// How far the receiver may be ahead of the sealer, in bytes.
    static let mostUnsealed: Int64 = 512 << 10
    /// How far behind a reader, in bytes, a transfer may be for the reader to wait for it rather than start another.
    static let reach: Int64 = 256 << 10
    /// How long a transfer is kept for stalled readers.
    static let patience: Duration = .seconds(30)
    /// How long readers must take no bytes before they count as stalled.
    static let stallTime: Duration = .seconds(1)
    /// How long an extended fetch may continue after its last reader has left, and how many of these fetches a loader
    /// may have (`mostLeft`).
    static let unreadTimeLimit: Duration = .seconds(2)
    static let mostLeft = 4
    /// How long to wait for more bytes before a short block is sealed.
    static let quiet: Duration = .seconds(5)

    init(id: ID, range: ByteRange, now: ContinuousClock.Instant) {
        self.id = id
        start = range.lowerBound
        end = range.upperBound
        recent = RecentBytes(at: range.lowerBound)
        takenTo = range.lowerBound
        sealedTo = range.lowerBound
        demand = range.lowerBound
        lastByte = now
    }

    /// One past the last byte received.
    var present: Int64 { recent.end }

    /// Whether the transfer's bytes are stored; otherwise they only pass through.
    var isStoring: Bool { destination == .store }

    /// Whether the transfer's bytes are only for the readers that requested them.
    var isSeparate: Bool { destination == .ownReaders }

    /// Whether bytes are passing through that should be stored.
    var isPassingThrough: Bool { isActive && destination == .readers }

    /// Whether more bytes are expected.
    var isActive: Bool { phase == .requesting || phase == .receiving }

    /// Returns whether the fetch has yet to bring bytes that a reader wants.
    func owes(_ reader: ReaderState) -> Bool { reader.position < end && reader.end > present }

    /// Whether all bytes announced by the answer's head have arrived, so that only the end of the body is awaited.
    var awaitsEnd: Bool { phase == .receiving && statedEnd == present }

    /// Whether reception has ended.
    var hasEnded: Bool { phase == .ended || phase == .keptForReaders }

    /// Advances to a phase; never returns to an earlier one.
    mutating func enter(_ next: Phase) { phase = max(phase, next) }

    /// The range of the bytes still to come.
    var remaining: ByteRange { isActive ? present..<max(present, end) : present..<present }

    /// Returns the bytes still to come that a reader should wait for.
    ///
    /// These are the bytes close to those already received, or all remaining bytes if the origin does not support
    /// ranges.
    func near(supportsRanges: Bool) -> ByteRange {
        guard supportsRanges else { return remaining }
        return remaining.clamped(to: present..<min(max(present, demand), .max - Self.reach) + Self.reach)
    }

    /// Whether the receiver may take bytes from the network.
    var mayReceive: Bool {
        present - window < demand && (!isStoring || present - sealedTo < Self.mostUnsealed)
    }

    /// Whether enough unsealed bytes have arrived to wake the sealer.
    var isWorthSealing: Bool { present - takenTo >= Self.sealingBatch }

    /// Records that the receiver is waiting for readers or for the sealer.
    mutating func holdBack(now: ContinuousClock.Instant) {
        wasHeldBack = true
        pausedSince = pausedSince ?? now
    }

    /// Records that a reader has taken all received bytes and is waiting; widens the window if it held the receiver
    /// back.
    mutating func noteWaiting(at position: Int64) {
        guard wasHeldBack, position >= present else { return }
        wasHeldBack = false
        window = max(window, min(window * 2, Self.mostWindow, (demand - start) / Self.windowShare))
    }

    /// Frees memory while readers are stalled.
    ///
    /// When the readers continue, they read sealed bytes from segments, and the window starts at its minimum again.
    private mutating func rest() {
        window = Self.leastWindow
        recent.drop(before: min(isStoring && demand >= unstoredTo ? sealedTo : demand, neededFrom))
    }

    /// Extends the fetch to the end of its answer, because no other fetch may bring the bytes that follow.
    mutating func goOn() { end = answerEnd }

    /// One past the last byte that the answer brings; `Int64.max` if its head states no end.
    var answerEnd: Int64 { statedEnd ?? .max }

    /// Records that the head of the answer is valid.
    ///
    /// - Parameters:
    ///   - end: one past the last byte that the body brings; nil if unknown.
    ///   - fromZero: whether the body begins at byte 0, whatever range was requested.
    ///   - length: the length of the representation being read; nil if unknown.
    mutating func accept(end: Int64?, fromZero: Bool, of representation: RepresentationID?, length: Int64?) {
        self.representation = representation
        statedEnd = end
        if fromZero {
            restartAtZero(end: end ?? .max)
        } else if let end {
            let wanted = min(self.end, length ?? .max)
            if wanted < .max, end - start < min(wanted - start, Int64(VaultStore.blockSize)) {
                requestedOfTinyAnswer = wanted - start
            }
            self.end = min(self.end, end)
        }
        enter(.receiving)
    }

    /// Restarts at byte 0, because the origin sends the whole resource whatever range was requested.
    private mutating func restartAtZero(end: Int64) {
        start = 0
        self.end = end
        recent = RecentBytes(at: 0)
        takenTo = 0
        sealedTo = 0
    }

    /// Appends received bytes, up to the end of the range.
    ///
    /// - Returns: the number of bytes appended.
    mutating func append(_ bytes: [UInt8], now: ContinuousClock.Instant) -> Int64 {
        lastByte = now
        isDirty = true
        let room = end - present
        if Int64(bytes.count) > room, end == statedEnd { hasWrongEnd = true }
        recent.append(Int64(bytes.count) <= room ? bytes : Array(bytes.prefix(Int(max(0, room)))))
        return min(Int64(bytes.count), max(0, room))
    }

    /// Does the periodic work: ends the transfer if its readers have stalled or left, and makes the sealer close a
    /// short block.
    ///
    /// - Parameters:
    ///   - isBound: whether one connection alone must fill the representation.
    ///   - isAwaited: whether any reader needs the transfer.
    mutating func tick(
        now: ContinuousClock.Instant, isBound: Bool, isAwaited: @autoclosure () -> Bool
    ) -> Effects {
        var effects = Effects()
        if let since = pausedSince, now - since >= Self.stallTime {
            rest()
            if takenTo < present { effects.wake(sealerSignal.raise()) }
        }
        // Do not release a bound transfer: it could not be resumed on another connection.
        if !isBound, !isSeparate, let since = pausedSince, now - since >= Self.patience {
            enter(.released)
            effects.wake(receiverSignal.raise())
        }
        if isExtendedToBlocks {
            leftSince = isAwaited() ? nil : leftSince ?? now
            if let since = leftSince, now - since >= Self.unreadTimeLimit {
                enter(.released)
                effects.cancelled.append(id)
            }
        }
        if isDirty, now - lastByte >= Self.quiet {
            wantsFlush = true
            effects.wake(sealerSignal.raise())
        }
        return effects
    }

    /// Stores the bytes from here on. Bytes that arrived during the refusal were passed on, and may no longer be in
    /// memory.
    mutating func storeAgain() {
        destination = .store
        (takenTo, sealedTo, unstoredTo) = (present, present, present)
    }

    /// Returns whether the sealer must close the segment being written, and clears that request.
    mutating func takeFlush() -> Bool {
        guard wantsFlush else { return false }
        wantsFlush = false
        isDirty = false
        return true
    }

    /// Frees the bytes that the fastest reader has taken, except those that are yet to be sealed or are kept for a
    /// slower reader.
    mutating func trim() {
        let unsealed = isStoring ? sealedTo : present
        recent.drop(before: min(demand, unsealed, neededFrom))
    }

    /// The offset of the first byte that is kept for the slowest reader.
    private var neededFrom: Int64 { max(slowest, demand - Self.mostBehind) }
}
