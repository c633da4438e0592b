import DequeModule
import VaultModel

/// One transfer of one gap as the loader sees it.
///
/// A value, changed under the loader's lock.
struct FetchState {
    /// The phase of a transfer.
    enum Phase: Int, Comparable {
        /// The request was sent; its head has not arrived.
        case requesting
        /// The head is valid; bytes arrive.
        case receiving
        /// The transfer must end, keeping its bytes. Readers that continue start another fetch.
        case released
        /// No more bytes come: the rest is sealed, then the fetch is removed.
        case ended
        /// Everything is done, but unstored bytes wait for readers that have not had them yet.
        case keptForReaders

        static func < (one: Phase, other: Phase) -> Bool { one.rawValue < other.rawValue }
    }

    /// Where the bytes of a transfer go.
    enum Destination {
        /// Into the store, and to the readers.
        case store
        /// Only to the readers: the store refuses bytes, or the mode stores none.
        case readers
        /// Only to the readers that requested them: no validator shows that the bytes are of the representation being
        /// read.
        case ownReaders
    }

    /// Identifies a fetch within its loader.
    typealias ID = Int

    let id: ID
    /// The first byte wanted.
    private(set) var start: Int64
    /// One past the last byte wanted; `Int64.max` if the end is unknown. Another fetch may shorten it.
    var end: Int64
    private(set) var phase = Phase.requesting
    /// Whether the fetch is extended to whole blocks, so that held ranges begin and end at block boundaries.
    var isExtendedToBlocks = false
    /// When an extended fetch lost its last reader; nil while it has one.
    var leftSince: ContinuousClock.Instant?
    /// How many bytes were requested, if the answer brings less than a block of them; nil otherwise.
    var requestedOfTinyAnswer: Int64?
    /// Whether an answer with another representation is rejected.
    var keepsRepresentation = false
    /// Where its bytes go.
    var destination = Destination.store
    /// The representation that the answer's bytes belong to; nil before the head arrives, or if the store has none.
    var representation: RepresentationID?
    /// The bytes received last.
    private(set) var recent: RecentBytes
    /// One past the last byte that the sealer has taken.
    var takenTo: Int64
    /// One past the last byte that is sealed in a segment, or known to be held elsewhere.
    var sealedTo: Int64
    /// One past the last byte that passed through unstored before the store took bytes again.
    var unstoredTo: Int64 = 0
    /// Where sealing was restarted after the disk was full.
    var rewoundAt: Int64?
    /// The offset that the fastest reader has reached.
    var demand: Int64
    /// The offset that the slowest reader has reached, if nothing else brings that reader's bytes; else `Int64.max`.
    var slowest = Int64.max
    /// One past the last byte that the answer's head states; nil before the head arrives, or if it states none.
    var statedEnd: Int64?
    /// Whether the body went on past the end that the head states; then no byte of it can be trusted.
    var hasWrongEnd = false
    /// Whether only the end of the body would prove that its bytes are those of the range, and that end was not seen.
    var isUnproven = false
    /// The segments that its bytes were sealed in.
    var segments: Set<SegmentID> = []
    /// When the transfer began to wait for its readers; nil while it does not wait.
    var pausedSince: ContinuousClock.Instant?
    /// Whether the transfer has waited so long for its readers that the origin may have dropped it.
    var hasStoodStill = false
    /// When the last byte arrived.
    var lastByte: ContinuousClock.Instant
    /// Whether bytes arrived since the sealer last closed a segment.
    var isDirty = false
    /// Whether the sealer must close the segment that it is writing.
    var wantsFlush = false
    /// Whether the sealer waits for bytes that another fetch seals.
    var waitsForOther = false
    var receiverSignal = WakeFlag()
    var sealerSignal = WakeFlag()

    /// How far ahead of the fastest reader bytes are taken from the network.
    ///
    /// This is no further than a player needs, unless its reader takes bytes faster than they arrive one window at a
    /// time.
    private(set) var window = leastWindow
    /// Whether the window has held the receiver back since it last grew.
    private var wasHeldBack = false

    static let leastWindow: Int64 = 64 << 10
    private static let mostWindow: Int64 = 1 << 20
    /// How far behind the fastest reader bytes are kept for a reader that no other fetch can serve.
    static let mostBehind: Int64 = 4 << 20
    /// The window is at most 1/32 of the bytes that readers have taken: sockets buffer megabytes before a player's pace
    /// shows.
    private static let windowShare: Int64 = 32
    /// How many unsealed bytes wake the sealer: one block.
    static let sealingBatch: Int64 = 32 << 10
    /// How far the receiver may be ahead of the sealer.
    static let mostUnsealed: Int64 = 512 << 10
    /// How far behind a reader a transfer may be for the reader to wait for it rather than start another.
    static let reach: Int64 = 256 << 10
    /// How long a transfer is kept for stalled readers.
    static let patience: Duration = .seconds(30)
    /// How long readers take nothing before they count as stalled.
    static let stallTime: Duration = .seconds(1)
    /// How long an extended fetch may continue after its last reader has left, and how many such fetches a loader may
    /// have.
    static let unreadTimeLimit: Duration = .seconds(2)
    static let mostLeft = 4
    /// How long to wait for more bytes before the short block is sealed.
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

    /// Whether bytes are stored; otherwise they only pass through.
    var isStoring: Bool { destination == .store }

    /// Whether its bytes are only for the readers that requested them.
    var isSeparate: Bool { destination == .ownReaders }

    /// Whether more bytes will come.
    var isActive: Bool { phase == .requesting || phase == .receiving }

    /// Whether the fetch still has to bring bytes that a reader wants.
    func owes(_ reader: ReaderState) -> Bool { reader.position < end && reader.end > present }

    /// Whether all bytes that the answer's head states have arrived, and only the end of the body is awaited.
    var awaitsEnd: Bool { phase == .receiving && statedEnd == present }

    /// Whether no more bytes come.
    var hasEnded: Bool { phase == .ended || phase == .keptForReaders }

    /// Advances to a phase, never back to an earlier one.
    mutating func enter(_ next: Phase) { phase = max(phase, next) }

    /// The bytes still to come.
    var remaining: ByteRange { isActive ? present..<max(present, end) : present..<present }

    /// Returns the bytes still to come that a reader should wait for.
    ///
    /// These are the bytes near those that have arrived, or all of them if the origin does not support ranges.
    func near(supportsRanges: Bool) -> ByteRange {
        guard supportsRanges else { return remaining }
        return remaining.clamped(to: present..<min(max(present, demand), .max - Self.reach) + Self.reach)
    }

    /// Whether the receiver may take bytes from the network.
    var mayReceive: Bool {
        present - window < demand && (!isStoring || present - sealedTo < Self.mostUnsealed)
    }

    /// Whether there are enough bytes to wake the sealer.
    var isWorthSealing: Bool { present - takenTo >= Self.sealingBatch }

    /// Records that the receiver waits for readers or for the sealer.
    mutating func holdBack(now: ContinuousClock.Instant) {
        wasHeldBack = true
        pausedSince = pausedSince ?? now
    }

    /// Records that a reader has taken all bytes and waits; widens the window if it held the receiver back.
    mutating func noteWaiting(at position: Int64) {
        guard wasHeldBack, position >= present else { return }
        wasHeldBack = false
        window = max(window, min(window * 2, Self.mostWindow, (demand - start) / Self.windowShare))
    }

    /// Frees memory while readers are stalled.
    ///
    /// When they continue, they read sealed bytes from the segment, and the window starts small again.
    mutating func rest() {
        window = Self.leastWindow
        recent.drop(before: min(isStoring && demand >= unstoredTo ? sealedTo : demand, neededFrom))
    }

    /// Extends the fetch to the end of its answer, because no other fetch may bring the bytes that follow.
    mutating func goOn() { end = answerEnd }

    /// One past the last byte that its answer brings; `Int64.max` if the head does not state it.
    var answerEnd: Int64 { statedEnd ?? .max }

    /// Restarts at byte 0, for an origin that sends everything whatever was requested.
    mutating func restartAtZero(end: Int64) {
        start = 0
        self.end = end
        recent = RecentBytes(at: 0)
        takenTo = 0
        sealedTo = 0
    }

    /// Appends received bytes, up to the end of the range.
    ///
    /// - Returns: how many were taken.
    mutating func append(_ bytes: [UInt8], now: ContinuousClock.Instant) -> Int64 {
        lastByte = now
        isDirty = true
        let room = end - present
        if Int64(bytes.count) > room, end == statedEnd { hasWrongEnd = true }
        recent.append(Int64(bytes.count) <= room ? bytes : Array(bytes.prefix(Int(max(0, room)))))
        return min(Int64(bytes.count), max(0, room))
    }

    /// Returns whether to close the segment that is being written, and resets the request to do so.
    mutating func takeFlush() -> Bool {
        guard wantsFlush else { return false }
        wantsFlush = false
        isDirty = false
        return true
    }

    /// Frees bytes that are sealed and that the fastest reader has had.
    mutating func trim() {
        let unsealed = isStoring ? sealedTo : present
        recent.drop(before: min(demand, unsealed, neededFrom))
    }

    /// The first byte that is kept for the slowest reader.
    private var neededFrom: Int64 { max(slowest, demand - Self.mostBehind) }
}

/// The bytes that a fetch received last, in chunks as they arrived.
///
/// Readers take them before they are sealed, and the sealer takes them to seal them.
struct RecentBytes {
    private struct Chunk {
        let start: Int64
        let bytes: [UInt8]
        var end: Int64 { start + Int64(bytes.count) }
    }

    private var chunks = Deque<Chunk>()

    /// One past the last byte.
    private(set) var end: Int64

    /// The offset of the first byte that is still present.
    var start: Int64 { chunks.first?.start ?? end }

    init(at start: Int64) { end = start }

    mutating func append(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        chunks.append(Chunk(start: end, bytes: bytes))
        end += Int64(bytes.count)
    }

    /// Returns the bytes from `offset` to the end of its chunk, but not past `limit`; nil if they are not present.
    func bytes(from offset: Int64, limit: Int64) -> ArraySlice<UInt8>? {
        guard offset >= start, offset < end, offset < limit else { return nil }
        guard let chunk = chunks.first(where: { $0.end > offset }) else { return nil }
        return chunk.bytes[Int(offset - chunk.start)..<Int(min(limit, chunk.end) - chunk.start)]
    }

    /// Frees chunks that end at or before `offset`.
    mutating func drop(before offset: Int64) {
        while let first = chunks.first, first.end <= offset { chunks.removeFirst() }
    }
}
