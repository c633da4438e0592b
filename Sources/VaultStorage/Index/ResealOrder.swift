package import VaultModel

/// A reseal that was ordered. It is kept in the vault's settings until it is finished.
///
/// The next owner of the vault continues it.
package struct ResealOrder: Hashable, Sendable {
    /// The reseal's number in this vault. Each resource records the number of the last reseal that it went through.
    package let run: Int64
    /// The resources to reseal, titles with all their parts; nil means every resource.
    package let resources: Set<ResourceID>?
    /// The maximum number of bytes per second; nil means no limit.
    package let bytesPerSecond: Int64?
    /// The number of the last receipt before the run began; nil if it was not recorded.
    package let after: Int64?

    package init(run: Int64, resources: Set<ResourceID>?, bytesPerSecond: Int64?, after: Int64?) {
        self.run = run
        self.resources = resources
        self.bytesPerSecond = bytesPerSecond
        self.after = after
    }

    /// Returns the order that results from a request and the unfinished order, if any.
    ///
    /// An unfinished order for everything continues. An unfinished order for certain resources is merged with a request
    /// for certain resources, but a request for everything replaces it and starts a new run.
    ///
    /// - Parameters:
    ///   - unfinished: the unfinished order, if any.
    ///   - lastRun: the number of this vault's last reseal.
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

    /// Returns the same order with its resources' new ids. A resource that is not in `names` keeps its id.
    func renamed(_ names: [ResourceID: ResourceID]) -> ResealOrder {
        ResealOrder(
            run: run, resources: resources.map { Set($0.map { names[$0] ?? $0 }) }, bytesPerSecond: bytesPerSecond,
            after: after)
    }

    /// Returns whether the receipt for a resource is already written.
    ///
    /// This is the case if the owner was killed before it recorded the order as done.
    ///
    /// - Parameter subject: the resource's name in receipts; nil for an order for everything, which has one receipt.
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
