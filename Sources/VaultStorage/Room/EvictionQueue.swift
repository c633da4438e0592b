import VaultModel

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
