import DequeModule
import VaultModel

/// One transfer of one gap as the loader sees it: a value, changed under the loader's lock.
struct FetchState {
    /// How far the transfer has come.
    enum Phase {
        /// Asked; the head has not come.
        case asking
        /// The head is good; bytes arrive.
        case flowing
        /// No more bytes come: the rest is sealed, then the fetch is gone.
        case ended
    }

    /// Names one fetch of a loader.
    typealias ID = Int

    let id: ID
    /// The first byte wanted.
    private(set) var start: Int64
    /// One past the last byte wanted; `Int64.max` is "to an end nobody knows". Others may cut it shorter.
    var end: Int64
    var phase = Phase.asking
    /// More than was asked for is fetched, so that what is held begins and ends with a block.
    var isRoundedOut = false
    /// Since when such a fetch has had no reader; nil while it has one.
    var leftSince: ContinuousClock.Instant?
    /// How many bytes were asked for, where the answer gives less than a block of them: nil where it gives what it can.
    var askedInVain: Int64?
    /// An answer of another representation is not taken.
    var keepsRepresentation = false
    /// Its bytes are for the readers that asked for them alone, and are not stored: nothing tells whether they are of the
    /// representation that is read.
    var isApart = false
    /// The representation that the answer's bytes belong to; nil before the head, and where the store has none.
    var representation: RepresentationID?
    /// The last bytes that came.
    private(set) var recent: RecentBytes
    /// Up to here the sealer has taken bytes.
    var takenTo: Int64
    /// Up to here bytes lie sealed in segments, or are known to be held elsewhere.
    var sealedTo: Int64
    /// False once the store refused: bytes only pass through.
    var isStoring = true
    /// Up to here bytes came that were not stored, before the store took some again.
    var unstoredTo: Int64 = 0
    /// Where sealing was begun anew after the disk was full.
    var rewoundAt: Int64?
    /// The offset that the fastest reader has reached.
    var demand: Int64
    /// When the transfer began to wait for its readers; nil while it does not.
    var pausedSince: ContinuousClock.Instant?
    /// The transfer has waited for its readers for so long that the origin may have dropped it.
    var hasStoodStill = false
    /// When the last byte came.
    var lastByte: ContinuousClock.Instant
    /// Bytes came since the sealer last closed a segment.
    var isDirty = false
    /// The sealer shall close the segment it is writing.
    var wantsFlush = false
    /// The sealer waits for bytes that an earlier fetch seals.
    var waitsForOther = false
    /// Readers have stood still for so long that the transfer shall end; they take it up again.
    var isLetGo = false
    /// It is over, and its last bytes wait for readers that are near: they are not stored.
    var isLeftOver = false
    var receiverSignal = WakeFlag()
    var sealerSignal = WakeFlag()

    /// How far ahead of the fastest reader bytes are taken from the network: no further than a player needs, unless its
    /// reader takes them faster than they come one window at a time.
    private(set) var window = leastWindow
    /// The window has held the receiver back since it last grew.
    private var wasHeldBack = false

    static let leastWindow: Int64 = 64 << 10
    private static let mostWindow: Int64 = 1 << 20
    /// The window is at most this part of what readers have taken: sockets swallow megabytes before a player's pace shows.
    private static let windowShare: Int64 = 32
    /// The sealer is woken for a block at a time.
    static let sealingBatch: Int64 = 32 << 10
    /// How far the receiver may be ahead of the sealer.
    static let mostUnsealed: Int64 = 512 << 10
    /// How far before a reader a transfer may be for the reader to wait for it rather than start another.
    static let reach: Int64 = 256 << 10
    /// How long a transfer is held for readers that stand still.
    static let patience: Duration = .seconds(30)
    /// Readers that take nothing for so long stand still.
    static let stillness: Duration = .seconds(1)
    /// How long what was rounded out may come on when its last reader has left, and how many of a loader's may.
    static let farewell: Duration = .seconds(2)
    static let mostLeft = 4
    /// After so long without a byte the short block is sealed.
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

    /// One past the last byte that came.
    var present: Int64 { recent.end }

    /// Whether more bytes will come.
    var isActive: Bool { phase != .ended && !isLetGo }

    /// The bytes that are still to come.
    var remaining: ByteRange { isActive ? present..<max(present, end) : present..<present }

    /// The bytes still to come that a reader had better wait for: those near what has come, or all of them where the
    /// origin cannot jump.
    func near(supportsRanges: Bool) -> ByteRange {
        guard supportsRanges else { return remaining }
        return remaining.clamped(to: present..<min(max(present, demand), .max - Self.reach) + Self.reach)
    }

    /// Whether the receiver may take bytes from the network.
    var mayReceive: Bool {
        present - window < demand && (!isStoring || present - sealedTo < Self.mostUnsealed)
    }

    /// Whether there is enough for the sealer to be woken.
    var isWorthSealing: Bool { present - takenTo >= Self.sealingBatch }

    /// The receiver waits for readers, or for the sealer.
    mutating func holdBack(now: ContinuousClock.Instant) {
        wasHeldBack = true
        pausedSince = pausedSince ?? now
    }

    /// A reader has taken all there is, and waits: where the window was in the way it grows.
    mutating func hunger(at position: Int64) {
        guard wasHeldBack, position >= present else { return }
        wasHeldBack = false
        window = max(window, min(window * 2, Self.mostWindow, (demand - start) / Self.windowShare))
    }

    /// Readers stand still: what lies sealed is read from its segment when they go on, and the window is small again.
    mutating func rest() {
        window = Self.leastWindow
        recent.drop(before: isStoring && demand >= unstoredTo ? sealedTo : demand)
    }

    /// The origin sends from byte 0 whatever was asked for.
    mutating func restartAtZero(end: Int64) {
        start = 0
        self.end = end
        recent = RecentBytes(at: 0)
        takenTo = 0
        sealedTo = 0
    }

    /// Takes bytes that came, none past the end.
    ///
    /// - Returns: how many were taken.
    mutating func append(_ bytes: [UInt8], now: ContinuousClock.Instant) -> Int64 {
        lastByte = now
        isDirty = true
        let room = end - present
        recent.append(Int64(bytes.count) <= room ? bytes : Array(bytes.prefix(Int(max(0, room)))))
        return min(Int64(bytes.count), max(0, room))
    }

    /// Whether the segment that is being written is to be closed now; it is asked for once.
    mutating func takeFlush() -> Bool {
        guard wantsFlush else { return false }
        wantsFlush = false
        isDirty = false
        return true
    }

    /// Lets go of bytes that every fast reader has had and that are sealed.
    mutating func trim() {
        let unsealed = isStoring ? sealedTo : present
        recent.drop(before: min(demand, unsealed))
    }
}

/// The last bytes of a fetch, as they came: what its readers take before it is sealed, and what waits to be sealed.
struct RecentBytes {
    private struct Chunk {
        let start: Int64
        let bytes: [UInt8]
        var end: Int64 { start + Int64(bytes.count) }
    }

    private var chunks = Deque<Chunk>()

    /// One past the last byte.
    private(set) var end: Int64

    /// The offset of the first byte that is still here.
    var start: Int64 { chunks.first?.start ?? end }

    init(at start: Int64) { end = start }

    mutating func append(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        chunks.append(Chunk(start: end, bytes: bytes))
        end += Int64(bytes.count)
    }

    /// The bytes from `offset` to the end of the chunk that holds it, none past `limit`; nil where it is not here.
    func bytes(from offset: Int64, limit: Int64) -> ArraySlice<UInt8>? {
        guard offset >= start, offset < end, offset < limit else { return nil }
        guard let chunk = chunks.first(where: { $0.end > offset }) else { return nil }
        return chunk.bytes[Int(offset - chunk.start)..<Int(min(limit, chunk.end) - chunk.start)]
    }

    /// Lets go of chunks that lie wholly before `offset`.
    mutating func drop(before offset: Int64) {
        while let first = chunks.first, first.end <= offset { chunks.removeFirst() }
    }
}
