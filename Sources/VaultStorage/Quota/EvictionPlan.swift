package import VaultModel

/// A plan of which segments to evict, and in which order.
///
/// It is a pure function of what is held and what is needed. Pinned resources and those in use are never evicted.
/// Resources that were only played are evicted before those requested by name, and within a class the least recently
/// read comes first. Within a resource the tail is evicted first, so that playback still starts instantly. No more is
/// evicted than is needed, except that a title of several resources is evicted whole: a hole would only stop it.
package struct EvictionPlan: Hashable, Sendable {
    /// A resource that holds bytes.
    package struct Candidate: Hashable, Sendable {
        package let resource: ResourceID
        package let resourceClass: ResourceClass
        /// When it was last read, rounded down to the hour.
        package let accessed: Int64
        /// All its segments, in any order, including those of the parts that belong to it alone.
        package let segments: [SegmentDescription]
        /// The parts, if it is a title of several resources.
        package let parts: [TitlePart]

        package init(
            resource: ResourceID, resourceClass: ResourceClass, accessed: Int64, segments: [SegmentDescription],
            parts: [TitlePart] = []
        ) {
            self.resource = resource
            self.resourceClass = resourceClass
            self.accessed = accessed
            self.segments = segments
            self.parts = parts
        }

        /// Whether it is evicted either whole or not at all.
        var goesWhole: Bool { !parts.isEmpty }

        /// Returns whether it, or one of its parts, is one of these resources.
        func isAmong(_ resources: Set<ResourceID>) -> Bool {
            resources.contains(resource) || parts.contains { resources.contains($0.id) }
        }

        /// The bytes of its files on the disk.
        package var bytes: Int64 { segments.reduce(0) { $0 + $1.diskSize } }
    }

    /// What is evicted of one resource.
    package struct Victim: Hashable, Sendable {
        package let resource: ResourceID
        /// When it was last read, according to the plan; a resource that has been read since is kept.
        package let accessed: Int64
        /// The segments to evict, the last bytes first.
        package let segments: [SegmentDescription]
        /// Whether these are all its segments.
        package let isWhole: Bool
        /// The parts that are evicted with it or unlinked from it.
        package let parts: [TitlePart]
    }

    /// What to evict, in this order.
    package private(set) var victims: [Victim] = []
    /// The bytes of the files to evict.
    package private(set) var bytes: Int64 = 0

    /// Creates a plan that frees `needed` bytes of files, or as many as may be evicted.
    ///
    /// - Parameter classes: the classes that may be evicted for this.
    package init(
        freeing needed: Int64, of candidates: [Candidate], inUse: Set<ResourceID>,
        classes: Set<ResourceClass> = [.cache, .download]
    ) {
        for candidate in Self.inOrder(candidates, inUse: inUse, classes: classes) {
            guard bytes < needed else { return }
            var going: [SegmentDescription] = []
            let goesWhole = candidate.goesWhole
            for segment in candidate.segments.sorted(by: Self.isFurtherBack) where bytes < needed || goesWhole {
                going.append(segment)
                bytes += segment.diskSize
            }
            add(candidate, going)
        }
    }

    /// Creates a plan that frees resources that were only played and not read for `age` seconds.
    package init(olderThan age: Int64, now: Int64, of candidates: [Candidate], inUse: Set<ResourceID>) {
        for candidate in Self.inOrder(candidates, inUse: inUse, classes: [.cache])
        where Self.isOver(candidate.accessed, age: age, now: now) {
            add(candidate, candidate.segments.sorted(by: Self.isFurtherBack))
            bytes += candidate.bytes
        }
    }

    private mutating func add(_ candidate: Candidate, _ going: [SegmentDescription]) {
        victims.append(
            Victim(
                resource: candidate.resource, accessed: candidate.accessed, segments: going,
                isWhole: going.count == candidate.segments.count, parts: candidate.parts))
    }

    /// Returns whether `age` seconds have passed since a time; not if it is in the future, as after a clock was set
    /// back.
    static func isOver(_ accessed: Int64, age: Int64, now: Int64) -> Bool { now - accessed >= age }

    private static func inOrder(
        _ candidates: [Candidate], inUse: Set<ResourceID>, classes: Set<ResourceClass>
    ) -> [Candidate] {
        candidates.filter {
            $0.resourceClass != .pinned && classes.contains($0.resourceClass) && !$0.isAmong(inUse)
        }.sorted { one, other in
            (one.resourceClass.rank, one.accessed, one.resource.hex)
                < (other.resourceClass.rank, other.accessed, other.resource.hex)
        }
    }

    private static func isFurtherBack(_ one: SegmentDescription, _ other: SegmentDescription) -> Bool {
        (one.start, one.id.hex) > (other.start, other.id.hex)
    }
}

extension ResourceClass {
    /// The order of eviction: the lowest rank first.
    fileprivate var rank: Int {
        switch self {
        case .cache: 0
        case .download: 1
        case .pinned: 2
        }
    }
}

/// Counters of what was evicted.
package struct EvictionCounters: Hashable, Sendable {
    package var resources = 0
    package var segments = 0
    /// The bytes of files that were removed.
    package var bytes: Int64 = 0

    /// Creates counters, all 0 by default.
    package init(resources: Int = 0, segments: Int = 0, bytes: Int64 = 0) {
        self.resources = resources
        self.segments = segments
        self.bytes = bytes
    }

    static func += (tally: inout EvictionCounters, other: EvictionCounters) {
        tally.resources += other.resources
        tally.segments += other.segments
        tally.bytes += other.bytes
    }
}

/// The next resources to evict, as the index last reported them.
///
/// The index is queried again when they are used up, not for each byte.
struct EvictionQueue {
    /// The number of resources requested from the index at a time.
    static let pageSize = 64

    private(set) var waiting: ArraySlice<EvictionPosition> = []
    /// Resources that are not evicted in this search, because they are in use.
    private(set) var inUse: Set<ResourceID> = []
    /// These resources, and those that were already chosen.
    private(set) var passed: Set<ResourceID> = []
    /// The last place that the index returned in this search; nil to begin at the front.
    ///
    /// The next query continues after it, so that the search ends however many resources are skipped.
    private(set) var last: EvictionPosition?
    /// Whether the index was queried in this search.
    private(set) var isFresh = false

    /// Begins a search for the next resources to evict.
    mutating func begin(inUse: Set<ResourceID>) {
        self.inUse = inUse
        passed = inUse
        isFresh = false
        last = nil
    }

    mutating func fill(_ places: [EvictionPosition]) {
        waiting = places[...]
        last = places.last ?? last
        isFresh = true
    }

    /// Skips the first resource: it was chosen, or is not evicted in this search.
    mutating func pass() {
        if let first = waiting.popFirst() { passed.insert(first.resource) }
    }

    /// Discards what the index reported.
    mutating func clear() {
        waiting = []
        last = nil
    }

    /// Puts back a resource that still holds bytes; it is evicted first the next time.
    mutating func putBack(_ candidate: EvictionPlan.Candidate) { waiting = [EvictionPosition(candidate)] + waiting }
}

/// The place of a resource in the order of eviction: played ones before downloads, then by last access.
struct EvictionPosition: Hashable {
    let resource: ResourceID
    let isDownload: Bool
    let accessed: Int64

    init(_ resource: ResourceID, isDownload: Bool, accessed: Int64) {
        self.resource = resource
        self.isDownload = isDownload
        self.accessed = accessed
    }

    init(_ candidate: EvictionPlan.Candidate) {
        self.init(
            candidate.resource, isDownload: candidate.resourceClass == .download, accessed: candidate.accessed)
    }
}
