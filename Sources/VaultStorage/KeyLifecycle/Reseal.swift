import VaultCrypto
package import VaultModel

// New keys for what may have leaked: the resource first, then segment by segment, the old keys last.
extension VaultStore {
    /// Plaintext bytes opened and sealed at a time.
    private static let resealChunk: Int64 = 256 << 10

    /// Gives a resource another key, once in a run. The caller sees to it that nobody else changes the resource, or
    /// goes on with what it was.
    ///
    /// - Returns: whether something of it is left to be sealed anew, or a key to be let go; nil where it is gone.
    package func beginReseal(_ resource: inout StoredResource, run: Int64) throws -> Bool? {
        let id = resource.id
        noteChange()
        guard let begun = try withDiskRoom({ try index.beginReseal(id, run: run) }) else { return nil }
        // Rows of segments stay as they were, and so does what was begun and not served yet.
        resource = begun.serving(resource.serving)
        return begun.keys.count > 1
    }

    /// Seals a closed segment anew under the key in use: a new file with a new id, synced; then one transaction puts its
    /// row in the place of the old one's. The old file stays until ``removeResealed(_:for:)``.
    ///
    /// - Returns: what holds the bytes now, one segment for each run of good blocks; nil where the old segment is not
    ///   what it was any more.
    /// - Throws: as ``sealAnew(_:as:of:)``.
    package func reseal(_ task: ResealTask, of resource: StoredResource) throws -> [SegmentDescription]? {
        let runs = task.segment.effectiveRanges(badBlocks: task.badBlocks).ranges
        return try sealAnew([task.segment], as: Array(runs), of: resource)
    }

    /// Seals bytes of closed segments anew under the key in use, each run in a new segment; then one transaction puts
    /// the new rows in the place of the old ones. The old files stay until ``removeReplaced(_:by:)``.
    ///
    /// - Parameter keepsLimits: whether new files count beside the old ones, within the limits, and nothing is evicted.
    /// - Returns: what holds the bytes now; nil where an old segment is not what it was any more.
    /// - Throws: ``SegmentFailure`` where an old one cannot be opened; ``VaultError`` where a new one cannot be written.
    func sealAnew(
        _ old: [SegmentDescription], as runs: [ByteRange], of resource: StoredResource, keepsLimits: Bool = false
    ) throws -> [SegmentDescription]? {
        guard let first = old.first else { return nil }
        var new: [SegmentDescription] = []
        do {
            for run in runs {
                let segment = try begun(at: run.lowerBound, like: first, of: resource)
                let begin = { try self.index.begin(segment, now: self.now()) }
                try keepsLimits ? begin() : withDiskRoom(begin)
                new.append(segment)
                let last = new.endIndex - 1
                if keepsLimits {
                    var whole = new[last]
                    whole.length = run.length
                    guard room.reserve(whole.diskSize, for: whole.id) == nil else {
                        throw VaultError(.noRoom, "there is no room to join segments; raise the limit, or remove something")
                    }
                } else {
                    room.leaveUncounted(new[last].id)
                }
                try copy(run, of: old, to: &new[last], resource)
            }
            let exchange = { [new] in try self.index.exchange(old, for: new) }
            if try keepsLimits ? exchange() : withDiskRoom(exchange) { return new }
            for segment in new { try abandon(segment.id, keepsLimits: keepsLimits) }
            return nil
        } catch {
            for segment in new { try abandon(segment.id, keepsLimits: keepsLimits) }
            throw Self.translated(error, "a segment cannot be sealed anew")
        }
    }

    private func begun(
        at start: Int64, like old: SegmentDescription, of resource: StoredResource
    ) throws -> SegmentDescription {
        SegmentDescription(
            id: try SecureRandom.identifier("segment id"), representation: old.representation,
            keyNumber: resource.keyNumber, blockSize: Self.blockSize, start: start, length: 0)
    }

    private func copy(
        _ run: ByteRange, of old: [SegmentDescription], to new: inout SegmentDescription, _ resource: StoredResource
    ) throws {
        guard let key = resource.keys[resource.keyNumber] else { throw IndexError.damaged }
        var writer = try SegmentWriter(new, resourceKey: key.secret, file: try segments.create(new.id))
        // One that fails is given up as a whole.
        writer.blocksInRun = 8
        for segment in old {
            let part = segment.range.clamped(to: run)
            guard !part.isEmpty else { continue }
            let reader = try reader(of: segment, resource: resource)
            var position = part.lowerBound
            while position < part.upperBound {
                let end = min(position + Self.resealChunk, part.upperBound)
                var plain = try reader.bytes(position..<end, of: segment)
                defer { SecureWipe.wipe(&plain) }
                try writer.append(plain[...])
                position = end
            }
        }
        writer.finish()
        guard writer.segment.length == run.length else {
            throw VaultError(.diskFull, "the last block of a segment could not be written; make room and try again")
        }
        try writer.synchronize()
        try segments.synchronizeName(of: new.id)
        new = writer.segment
        work.sealed.count(new.length)
    }

    /// Removes the file of a segment whose bytes are held in others now.
    package func removeResealed(_ old: SegmentDescription, for new: [SegmentDescription]) {
        removeReplaced([old], by: new)
    }

    /// Removes the files of segments whose bytes are held in others now.
    package func removeReplaced(_ old: [SegmentDescription], by new: [SegmentDescription]) {
        room.track(old)
        // One that cannot be removed now stays on the list.
        _ = try? removeFiles(of: old.map(\.id))
        for segment in new { room.settle(segment.id, size: segment.diskSize) }
    }

    /// Lets go of the keys that nothing of a resource is sealed under any more.
    ///
    /// - Returns: false where a segment still needs one.
    package func finishReseal(_ resource: inout StoredResource) throws -> Bool {
        let current = resource
        guard try withDiskRoom({ try index.dropOldKeys(of: current) }) else { return false }
        noteChange()
        resource = current.keeping(key: current.keyNumber)
        return true
    }

    // MARK: The order

    /// Writes down what is to be sealed anew, together with what was left undone.
    ///
    /// - Parameter log: where its receipts will stand.
    package func orderReseal(
        of resources: Set<ResourceID>?, bytesPerSecond: Int64?, noting log: AuditLog
    ) throws -> ResealOrder {
        let after = try log.lastSequence()
        noteChange()
        return try withDiskRoom {
            var order: ResealOrder?
            try index.changeSettings { settings in
                let new = ResealOrder.order(
                    for: resources, bytesPerSecond: bytesPerSecond, unfinished: settings.resealOrder,
                    lastRun: settings.lastResealRun, after: after)
                settings.resealOrder = new
                settings.lastResealRun = max(settings.lastResealRun, new.run)
                order = new
            }
            guard let order else { throw IndexError.damaged }
            return order
        }
    }

    /// The order is done: nothing of it is left in the index, its log, or the backup, and receipts say so.
    ///
    /// - Parameter finished: the resources that have new keys: a receipt for each that was named, else one for all.
    /// - Throws: ``VaultError`` where an old key may still stand there: then the order stays.
    package func finishResealOrder(
        _ order: ResealOrder, of finished: [ResourceID], noting log: AuditLog
    ) throws {
        try eraseKeyCopies()
        let receipts = try log.receipts(after: order.after)
        if order.resources != nil {
            for id in finished where !order.isNoted(log.subject(of: id), in: receipts) {
                try log.note(.reseal, subject: id)
            }
        } else if !order.isNoted(nil, in: receipts) {
            try log.note(.reseal, resources: Int64(finished.count))
        }
        noteChange()
        try withDiskRoom {
            try index.changeSettings { if $0.resealOrder?.run == order.run { $0.resealOrder = nil } }
        }
    }
}

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

/// A segment that is still sealed under a key that its resource is to lose.
package struct ResealTask: Sendable {
    package let segment: SegmentDescription
    /// Whether it still grows: then it waits until it is closed.
    package let isOpen: Bool
    /// Blocks that failed their tag: they are gaps, and stay so.
    package let badBlocks: Set<Int>
}
