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
    /// The number of the last receipt before the run began; nil where that was not noted.
    package let after: Int64?

    package init(run: Int64, resources: Set<ResourceID>?, bytesPerSecond: Int64?, after: Int64?) {
        self.run = run
        self.resources = resources
        self.bytesPerSecond = bytesPerSecond
        self.after = after
    }

    /// What is to be done once something is asked for beside what was left undone.
    ///
    /// What was begun is not begun anew: an order that holds all that is asked for goes on, and others are put together.
    /// Only an order for everything begins a run of its own, unless there is such a one already.
    ///
    /// - Parameters:
    ///   - unfinished: what was left undone.
    ///   - lastRun: the number of the last run of this vault.
    ///   - after: the number of the last receipt.
    package static func order(
        for resources: Set<ResourceID>?, bytesPerSecond: Int64?, unfinished: ResealOrder?, lastRun: Int64, after: Int64
    ) -> ResealOrder {
        guard let unfinished, unfinished.resources == nil || resources != nil else {
            return ResealOrder(run: lastRun + 1, resources: resources, bytesPerSecond: bytesPerSecond, after: after)
        }
        let together = unfinished.resources.flatMap { begun in resources.map { begun.union($0) } }
        return ResealOrder(
            run: unfinished.run, resources: together, bytesPerSecond: bytesPerSecond, after: unfinished.after)
    }

    /// The same order when resources have other ids; what is not named keeps the one it has.
    func renamed(_ names: [ResourceID: ResourceID]) -> ResealOrder {
        ResealOrder(
            run: run, resources: resources.map { Set($0.map { names[$0] ?? $0 }) }, bytesPerSecond: bytesPerSecond,
            after: after)
    }

    /// Whether a receipt for it is written all the same: who wrote it was killed before it was noted that the order is done.
    ///
    /// - Parameter subject: what receipts call the resource; nil for an order for everything, which has one receipt.
    func isNoted(_ subject: String?, in receipts: [Receipt]) -> Bool {
        guard let after else { return false }
        return receipts.contains { $0.act == .reseal && $0.subject == subject && $0.sequence > after }
    }

    init?(_ object: JSONObject) {
        do {
            run = try object.integer("run")
            bytesPerSecond = try object.optionalInteger("bytesPerSecond")
            after = try object.optionalInteger("after")
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
        object["after"] = after.map { .integer($0) }
        object["resources"] = resources.map { .array($0.map(\.hex).sorted().map { .string($0) }) }
        return object
    }
}
