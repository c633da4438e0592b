import VaultModel

/// The resources that go next, as the index last said: asked anew when it is used up, not for each byte.
struct EvictionQueue {
    /// How many resources are asked for at a time.
    static let pageSize = 64

    private(set) var waiting: ArraySlice<ResourceID> = []
    /// Resources that do not go this time, since somebody uses them.
    private(set) var inUse: Set<ResourceID> = []
    /// Those, and the ones chosen already, or with nothing to give.
    private(set) var passed: Set<ResourceID> = []
    /// Whether the index was asked this time.
    private(set) var isFresh = false

    /// Somebody looks for what goes next.
    mutating func begin(inUse: Set<ResourceID>) {
        self.inUse = inUse
        passed = inUse
        isFresh = false
    }

    mutating func fill(_ resources: [ResourceID]) {
        waiting = resources[...]
        isFresh = true
    }

    /// The first does not go this time, or is chosen.
    mutating func pass() {
        if let first = waiting.popFirst() { passed.insert(first) }
    }

    /// What the index said is not believed any longer.
    mutating func clear() { waiting = [] }

    /// A part of it is left: it goes first the next time.
    mutating func putBack(_ resource: ResourceID) { waiting = [resource] + waiting }
}
