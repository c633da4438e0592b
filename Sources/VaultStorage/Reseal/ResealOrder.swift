import VaultCrypto
package import VaultModel

/// A reseal that is to be done, as the vault's settings remember it until it is: whoever owns the vault next goes on
/// with it.
package struct ResealOrder: Hashable, Sendable {
    /// Which reseal of this vault it is: resources note the one that they went through last.
    package let run: Int64
    /// What is sealed anew; nil is every resource.
    package let resources: Set<ResourceID>?
    /// The most bytes in a second; nil is as fast as it goes.
    package let bytesPerSecond: Int64?

    package init(run: Int64, resources: Set<ResourceID>?, bytesPerSecond: Int64?) {
        self.run = run
        self.resources = resources
        self.bytesPerSecond = bytesPerSecond
    }

    /// What is to be done once something is asked for beside what was left undone.
    ///
    /// What was begun is not begun anew: an order that holds all that is asked for goes on, and others are put together.
    /// Only an order for everything begins a run of its own, unless there is such a one already.
    ///
    /// - Parameters:
    ///   - unfinished: what was left undone.
    ///   - lastRun: the number of the last run of this vault.
    package static func order(
        for resources: Set<ResourceID>?, bytesPerSecond: Int64?, unfinished: ResealOrder?, lastRun: Int64
    ) -> ResealOrder {
        guard let unfinished else {
            return ResealOrder(run: lastRun + 1, resources: resources, bytesPerSecond: bytesPerSecond)
        }
        guard let begun = unfinished.resources else {
            return ResealOrder(run: unfinished.run, resources: nil, bytesPerSecond: bytesPerSecond)
        }
        guard let resources else {
            return ResealOrder(run: lastRun + 1, resources: nil, bytesPerSecond: bytesPerSecond)
        }
        return ResealOrder(
            run: unfinished.run, resources: begun.union(resources), bytesPerSecond: bytesPerSecond)
    }

    /// The same order when resources have other ids; what is not named keeps the one it has.
    func renamed(_ names: [ResourceID: ResourceID]) -> ResealOrder {
        ResealOrder(
            run: run, resources: resources.map { Set($0.map { names[$0] ?? $0 }) }, bytesPerSecond: bytesPerSecond)
    }

    init?(_ object: JSONObject) {
        do {
            run = try object.integer("run")
            bytesPerSecond = try object.optionalInteger("bytesPerSecond")
            resources =
                object["resources"] == nil
                ? nil : Set(try object.strings("resources").compactMap { ResourceID(hex: $0) })
        } catch {
            return nil
        }
    }

    var object: JSONObject {
        var object = JSONObject()
        object["run"] = .integer(run)
        object["bytesPerSecond"] = bytesPerSecond.map { .integer($0) }
        object["resources"] = resources.map { .array($0.map(\.hex).sorted().map { .string($0) }) }
        return object
    }
}
