package import VaultModel

/// A plan that lists which segments to evict, and in which order.
///
/// The plan is a pure function of the held segments and of the space needed. Pinned resources and those in use are
/// never evicted. Resources that were only played are evicted before those requested by name, and within a class the
/// least recently read comes first. Within a resource the end is evicted first, so that playback still starts
/// instantly. No more is evicted than is needed, except that a title of several resources is evicted as a whole,
/// because playback would stop at any gap.
package struct EvictionPlan: Hashable, Sendable {
    /// A resource that holds bytes and is considered for eviction.
    package struct Candidate: Hashable, Sendable {
        package let resource: ResourceID
        package let resourceClass: ResourceClass
        /// When the resource was last read, rounded down to the hour.
        package let accessed: Int64
        /// All segments of the resource, in any order, including those of the parts that belong to it alone.
        package let segments: [SegmentDescription]
        /// The title's parts; empty if the resource is not a title of several resources.
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

        /// Whether the resource is evicted either as a whole or not at all.
        var goesWhole: Bool { !parts.isEmpty }

        /// Returns whether the candidate, or one of its parts, is among the given resources.
        func isAmong(_ resources: Set<ResourceID>) -> Bool {
            resources.contains(resource) || parts.contains { resources.contains($0.id) }
        }

        /// The disk space of the candidate's files in bytes.
        package var bytes: Int64 { segments.reduce(0) { $0 + $1.diskSize } }
    }

    /// The segments to evict from one resource.
    package struct Victim: Hashable, Sendable {
        package let resource: ResourceID
        /// When the resource was last read, as known to the plan. A resource that has been read since is kept.
        package let accessed: Int64
        /// The segments to evict, starting with those that hold the last bytes.
        package let segments: [SegmentDescription]
        /// Whether these are all segments of the resource.
        package let isWhole: Bool
        /// The parts that are evicted with the resource or unlinked from it.
        package let parts: [TitlePart]
    }

    /// What to evict, in the order of eviction.
    package private(set) var victims: [Victim] = []
    /// The total disk space of the files to evict, in bytes.
    package private(set) var bytes: Int64 = 0

    /// Creates a plan that frees `needed` bytes of files, or as many as possible if fewer may be evicted.
    ///
    /// - Parameter classes: the classes of the resources that may be evicted.
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

    /// Creates a plan that evicts the resources that were only played and have not been read for `age` seconds.
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

    /// Returns whether at least `age` seconds have passed since a resource was last read; false if that time is in the
    /// future, as after the clock was set back.
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
    /// The position of the class in the order of eviction, in which the lowest rank comes first.
    fileprivate var rank: Int {
        switch self {
        case .cache: 0
        case .download: 1
        case .pinned: 2
        }
    }
}

/// Counts of the evicted resources, segments and bytes.
package struct EvictionCounters: Hashable, Sendable {
    package var resources = 0
    package var segments = 0
    /// The disk space of the removed files in bytes.
    package var bytes: Int64 = 0

    /// Creates counters, which are all 0 by default.
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
/// The index is queried again only when these are used up, rather than for each eviction.
struct EvictionQueue {
    /// The maximum number of resources requested from the index at a time.
    static let pageSize = 64

    private(set) var waiting: ArraySlice<EvictionPosition> = []
    /// The resources that are not evicted in this search because they are in use.
    private(set) var inUse: Set<ResourceID> = []
    /// The resources in use, and those that were already chosen or skipped in this search.
    private(set) var passed: Set<ResourceID> = []
    /// The last position that the index returned in this search; nil to begin at the front.
    ///
    /// The next query continues after this position, so that the search ends no matter how many resources are skipped.
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

    /// Moves past the first resource, because it was chosen or must not be evicted in this search.
    mutating func pass() {
        if let first = waiting.popFirst() { passed.insert(first.resource) }
    }

    /// Discards the resources that the index reported, so that the next query begins at the front.
    mutating func clear() {
        waiting = []
        last = nil
    }

    /// Puts back a resource that still holds bytes, so that it is the first to be evicted the next time.
    mutating func putBack(_ candidate: EvictionPlan.Candidate) { waiting = [EvictionPosition(candidate)] + waiting }
}

/// The position of a resource in the order of eviction: resources that were only played come before downloads, and
/// within each of the two groups the least recently read comes first.
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
