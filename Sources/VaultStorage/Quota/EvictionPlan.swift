package import VaultModel

/// Which segments go, and in which order: a pure function of what is there and what is needed.
///
/// What is pinned, and what is in use, never goes. What was merely played goes before what was asked for by name, and
/// within a class what was read longest ago. Of one resource the tail goes first, so that starts stay instant. No more
/// goes than is needed.
package struct EvictionPlan: Hashable, Sendable {
    /// A resource that holds bytes.
    package struct Candidate: Hashable, Sendable {
        package let resource: ResourceID
        package let resourceClass: ResourceClass
        /// When it was last read, to the hour.
        package let accessed: Int64
        /// All its segments, in any order.
        package let segments: [SegmentDescription]

        package init(
            resource: ResourceID, resourceClass: ResourceClass, accessed: Int64, segments: [SegmentDescription]
        ) {
            self.resource = resource
            self.resourceClass = resourceClass
            self.accessed = accessed
            self.segments = segments
        }

        /// The bytes of its files.
        package var bytes: Int64 { segments.reduce(0) { $0 + $1.diskSize } }
    }

    /// What goes of one resource.
    package struct Victim: Hashable, Sendable {
        package let resource: ResourceID
        /// When it was last read as far as the plan knows: one that was read since stays.
        package let accessed: Int64
        /// The segments that go, the last bytes first.
        package let segments: [SegmentDescription]
        /// Whether that is all it has.
        package let isWhole: Bool
    }

    /// What goes, in this order.
    package private(set) var victims: [Victim] = []
    /// The bytes of the files that go.
    package private(set) var bytes: Int64 = 0

    /// A plan that frees `needed` bytes of files, or as many as may go.
    ///
    /// - Parameter classes: the classes that may go for this.
    package init(
        freeing needed: Int64, of candidates: [Candidate], inUse: Set<ResourceID>,
        classes: Set<ResourceClass> = [.cache, .download]
    ) {
        for candidate in Self.inOrder(candidates, inUse: inUse, classes: classes) {
            guard bytes < needed else { return }
            var going: [SegmentDescription] = []
            for segment in candidate.segments.sorted(by: Self.isFurtherBack) where bytes < needed {
                going.append(segment)
                bytes += segment.diskSize
            }
            add(candidate, going)
        }
    }

    /// A plan that frees what was merely played and not read for `age` seconds.
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
                isWhole: going.count == candidate.segments.count))
    }

    /// Whether so many seconds have passed; a time that lies ahead, as after a clock was put back, has not.
    static func isOver(_ accessed: Int64, age: Int64, now: Int64) -> Bool { now - accessed >= age }

    private static func inOrder(
        _ candidates: [Candidate], inUse: Set<ResourceID>, classes: Set<ResourceClass>
    ) -> [Candidate] {
        candidates.filter {
            $0.resourceClass != .pinned && classes.contains($0.resourceClass) && !inUse.contains($0.resource)
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
    /// Lower goes first.
    fileprivate var rank: Int {
        switch self {
        case .cache: 0
        case .download: 1
        case .pinned: 2
        }
    }
}

/// What went.
package struct EvictionCounters: Hashable, Sendable {
    package var resources = 0
    package var segments = 0
    /// Of files that are gone.
    package var bytes: Int64 = 0

    /// Nothing, unless told otherwise.
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

/// The resources that go next, as the index last said: asked again when they are used up, not for each byte.
struct EvictionQueue {
    /// How many resources are asked for at a time.
    static let pageSize = 64

    private(set) var waiting: ArraySlice<EvictionPlace> = []
    /// Resources that do not go this time, since they are in use.
    private(set) var inUse: Set<ResourceID> = []
    /// Those, and the ones chosen already.
    private(set) var passed: Set<ResourceID> = []
    /// The last place that the index named this time: it goes on behind it, so that it comes to an end however many are
    /// passed over. Nil where it begins at the front.
    private(set) var last: EvictionPlace?
    /// Whether the index was asked this time.
    private(set) var isFresh = false

    /// A search for what goes next begins.
    mutating func begin(inUse: Set<ResourceID>) {
        self.inUse = inUse
        passed = inUse
        isFresh = false
        last = nil
    }

    mutating func fill(_ places: [EvictionPlace]) {
        waiting = places[...]
        last = places.last ?? last
        isFresh = true
    }

    /// The first does not go this time, or is chosen.
    mutating func pass() {
        if let first = waiting.popFirst() { passed.insert(first.resource) }
    }

    /// What the index said is not believed any longer.
    mutating func clear() {
        waiting = []
        last = nil
    }

    /// A part of it is left: it goes first the next time.
    mutating func putBack(_ candidate: EvictionPlan.Candidate) { waiting = [EvictionPlace(candidate)] + waiting }
}

/// Where a resource stands in the order in which resources go: what was merely played first, then by its last reading.
struct EvictionPlace: Hashable {
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
