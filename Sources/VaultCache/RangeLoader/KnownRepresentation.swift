import VaultModel
import VaultStorage

/// What a loader knows about its resource: the representation being read, which of its bytes are sealed, and how long it
/// counts as current.
struct KnownRepresentation {
    /// The content information of the representation; nil while none is known.
    private(set) var information: ContentInformation?
    var map = SegmentMap()
    /// How long the representation counts as current. `writtenFreshness` is the value that the index has.
    var freshness: Freshness?
    private var writtenFreshness: Freshness?
    /// Whether the representation is bound: no validator distinguishes it from another version, so one connection alone
    /// must fill it.
    var isBound = false
    /// The connection that fills a bound representation; nil if no bytes have arrived yet, or if they arrived in an
    /// earlier run.
    var connection: UInt64?
    /// The evidence for whether the origin's entity tags identify versions.
    var entityTags = EntityTagReliability()
    /// The `Last-Modified` of the answer that began the representation, if that date is the second in which the answer
    /// was sent; otherwise nil.
    var unsettledDate: String?
    /// Whether the origin indicates that the resource never ends, as a web radio stream does.
    var isEndless = false
    /// Whether the resource is pinned: kept, and served whatever happens to it at its origin.
    var isPinned = false

    // MARK: Representations

    /// Loads the state from the index.
    mutating func load(_ representation: StoredRepresentation) {
        information = representation.info.information
        map = SegmentMap(representation)
        writtenFreshness = representation.info.freshness
        // A representation stored before the vault recorded freshness gets the default for answers that state none. A
        // representation that was imported without asking the origin was never current.
        let retrieved = representation.info.retrieved
        freshness =
            writtenFreshness
            ?? (information?.isImported == true
                ? Freshness(checked: retrieved, lifetime: 0) : Freshness(HeaderFields(), asked: retrieved))
    }

    /// Reloads the state from the index, because another process may have changed the index.
    ///
    /// - Parameters:
    ///   - representation: the representation as the index has it now; nil if the index no longer has it.
    ///   - lost: the segment whose file is missing.
    mutating func reload(_ representation: StoredRepresentation?, without lost: SegmentID) {
        // Do not bring back a representation that was forgotten.
        guard information != nil else { return }
        if let representation { load(representation) } else { map = SegmentMap() }
        map.remove(lost, isDamaged: false)
    }

    /// Decides whether one connection alone must fill the representation when more of it is requested from a URL.
    mutating func bind(by versions: VersionPolicy, at url: MediaURL) {
        isBound = versions.isBound(information, entityTags, at: url)
    }

    /// Begins a representation, of which nothing is sealed yet.
    mutating func begin(
        _ information: ContentInformation, _ freshness: Freshness?, isBound: Bool, connection: UInt64?,
        unsettledDate: String?
    ) {
        (self.information, map) = (information, SegmentMap())
        (self.freshness, writtenFreshness) = (freshness, freshness)
        (self.isBound, self.connection, self.unsettledDate) = (isBound, connection, unsettledDate)
    }

    /// Forgets the representation.
    mutating func forget() {
        (information, freshness, map) = (nil, nil, SegmentMap())
        (connection, unsettledDate) = (nil, nil)
    }

    /// Records newly learned facts about the representation.
    mutating func learn(_ information: ContentInformation) { self.information = information }

    var supportsRanges: Bool { information?.supportsRanges ?? false }

    // MARK: Segments

    /// Whether nothing is known, and nothing is held.
    var isEmpty: Bool { information == nil && map.covered.isEmpty }

    /// The ranges that are not sealed; empty while the length is unknown.
    var missing: [ByteRange] { map.covered.gaps(in: 0..<(information?.length ?? 0)) }

    /// Whether the length is known, and all bytes are sealed.
    var isHeldWhole: Bool { information?.isWhole(in: map.covered) ?? false }

    /// Whether every byte is held, and there is at least one.
    var isWhole: Bool { information?.length.map { $0 > 0 && map.holds(0..<$0) } ?? false }

    /// Turns a segment's unreadable bytes into a gap.
    mutating func invalidate(_ segment: SegmentID, for failure: SegmentFailure) {
        switch failure {
        case .badBlock(let block): map.markBad(segment, block: block)
        case .missing, .unreadable: map.remove(segment, isDamaged: false)
        case .foreign, .wrongKey: map.remove(segment, isDamaged: true)
        }
    }

    /// Removes a segment whose bytes are lost; returns their number.
    mutating func lose(_ segment: SegmentID) -> Int64 {
        defer { map.remove(segment, isDamaged: false) }
        return map.length(of: segment)
    }

    /// Returns what to fetch for a gap: whole blocks if the origin supports ranges.
    func extendedToBlocks(_ gap: ByteRange, between there: ByteRanges) -> ByteRange {
        guard let information, information.supportsRanges, let length = information.length else { return gap }
        return LoadPlan.extendedToBlocks(gap, block: Int64(VaultStore.blockSize), there: there, length: length)
    }

    // MARK: Freshness

    /// Returns whether too much time has passed since the origin last confirmed the representation.
    ///
    /// - Parameter now: the wall-clock time, in seconds since 1970.
    func isStale(now: Int64) -> Bool {
        guard information != nil, !isPinned, let freshness else { return false }
        return !freshness.isFresh(now: now)
    }

    /// Returns the freshness if it must be written to the index, and counts it as written; otherwise returns nil.
    mutating func takeUnwrittenFreshness() -> Freshness? {
        guard let freshness, freshness.isWorthStoring(after: writtenFreshness) else { return nil }
        writtenFreshness = freshness
        return freshness
    }
}
