import VaultCrypto
package import VaultModel

// Resources whose keys may have leaked get new keys: the resource's rows are resealed first, then each segment, and the
// old keys are deleted last.
extension VaultStore {
    /// The number of plaintext bytes that are opened and sealed at a time.
    private static let resealChunk: Int64 = 256 << 10

    /// Gives a resource a new key, at most once per run.
    ///
    /// The caller ensures that no other task changes the resource during this call, or continues with its former state
    /// afterwards.
    ///
    /// - Returns: whether a segment remains to be resealed or an old key to be removed; nil if the resource is gone.
    package func beginReseal(_ resource: inout StoredResource, run: Int64) throws -> Bool? {
        let id = resource.id
        noteChange()
        guard let begun = try withDiskSpace({ try ResealRows(index).beginReseal(id, run: run) }) else { return nil }
        // The representation in memory stays valid, because the rows of its segments are unchanged. It may be one that
        // has been begun and is not served yet.
        resource = begun.serving(resource.serving)
        return begun.keys.count > 1
    }

    /// Reseals a closed segment under the key in use.
    ///
    /// A new file with a new id is written and synced; then one transaction replaces the old row with the new one. The
    /// old file stays until ``removeResealed(_:for:)``.
    ///
    /// - Returns: the segments that now hold the bytes, one for each run of good blocks; nil if the old segment has
    ///   changed.
    /// - Throws: the same errors as ``resealRuns(_:as:of:keepsLimits:)``.
    package func reseal(_ task: ResealTask, of resource: StoredResource) throws -> [SegmentDescription]? {
        let runs = task.segment.effectiveRanges(badBlocks: task.badBlocks).ranges
        return try resealRuns([task.segment], as: Array(runs), of: resource)
    }

    /// Reseals runs of bytes of closed segments under the key in use, each run as a new segment.
    ///
    /// One transaction then replaces the old rows with the new ones. The old files stay until
    /// ``removeReplaced(_:by:)``.
    ///
    /// - Parameter keepsLimits: whether the new files must fit within the limits in addition to the old ones, so that
    ///   nothing is evicted for them.
    /// - Returns: the segments that now hold the bytes; nil if an old segment has changed.
    /// - Throws: ``SegmentFailure`` if an old segment cannot be opened; ``VaultError`` if a new one cannot be written.
    func resealRuns(
        _ old: [SegmentDescription], as runs: [ByteRange], of resource: StoredResource, keepsLimits: Bool = false
    ) throws -> [SegmentDescription]? {
        guard let first = old.first else { return nil }
        var new: [SegmentDescription] = []
        do {
            for run in runs {
                let segment = try begun(at: run.lowerBound, like: first, of: resource)
                let begin = { try SegmentRows(self.index).begin(segment, now: self.now()) }
                try keepsLimits ? begin() : withDiskSpace(begin)
                new.append(segment)
                let last = new.endIndex - 1
                if keepsLimits {
                    var whole = new[last]
                    whole.length = run.length
                    guard quota.account.reserve(whole.diskSize, for: whole.id) == nil else {
                        throw VaultError(
                            .quotaExceeded, "no space to join segments; raise the limit, or remove something")
                    }
                } else {
                    quota.account.trackUncounted(new[last].id)
                }
                try copy(run, of: old, to: &new[last], resource)
            }
            let exchange = { [new] in try SegmentRows(self.index).exchange(old, for: new) }
            if try keepsLimits ? exchange() : withDiskSpace(exchange) { return new }
            for segment in new { try discard(segment.id, keepsLimits: keepsLimits) }
            return nil
        } catch {
            for segment in new { try discard(segment.id, keepsLimits: keepsLimits) }
            throw Self.translated(error, "a segment cannot be resealed")
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
        // Several blocks are written at a time, because a new segment that fails is abandoned as a whole.
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
            throw VaultError(
                .diskFull, "the last block of a segment could not be written; free some space and try again")
        }
        try writer.synchronize()
        try segments.synchronizeName(of: new.id)
        new = writer.segment
        work.sealed.count(new.length)
    }

    /// Removes the file of a segment whose bytes are now held by other segments.
    package func removeResealed(_ old: SegmentDescription, for new: [SegmentDescription]) {
        removeReplaced([old], by: new)
    }

    /// Removes the files of segments whose bytes are now held by other segments.
    package func removeReplaced(_ old: [SegmentDescription], by new: [SegmentDescription]) {
        quota.account.track(old)
        // A file that cannot be removed now remains listed as a pending deletion.
        _ = try? removal.removeFiles(of: old.map(\.id))
        for segment in new { quota.account.settle(segment.id, size: segment.diskSize) }
    }

    /// Removes the old keys of a resource if none of its segments needs them any more.
    ///
    /// - Returns: whether the old keys were removed; false if a segment still needs one.
    package func finishReseal(_ resource: inout StoredResource) throws -> Bool {
        let current = resource
        guard try withDiskSpace({ try ResealRows(index).dropOldKeys(of: current) }) else { return false }
        noteChange()
        resource = current.keeping(key: current.keyNumber)
        return true
    }

    // MARK: The reseal order

    /// Records an order to reseal resources, which also includes those of an unfinished order.
    ///
    /// - Parameter log: the audit log that will get the receipts.
    package func orderReseal(
        of resources: Set<ResourceID>?, bytesPerSecond: Int64?, noting log: AuditLog
    ) throws -> ResealOrder {
        let after = try log.lastSequence()
        noteChange()
        return try withDiskSpace {
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

    /// Finishes an order: erases old keys from the index, its log and the backup, and writes receipts.
    ///
    /// - Parameter finished: the resources that have new keys. A title is among them only if all its parts have new
    ///   keys, too. If the order names resources, each finished resource that it names gets a receipt; otherwise there
    ///   is one receipt for all.
    /// - Throws: ``VaultError`` if an old key may remain; the order then stays pending.
    package func finishResealOrder(
        _ order: ResealOrder, of finished: [ResourceID], noting log: AuditLog
    ) throws {
        try erasure.erase()
        let receipts = try log.receipts(after: order.after)
        if let named = order.resources {
            for id in finished where named.contains(id) && !order.isNoted(log.subject(of: id), in: receipts) {
                try log.note(.reseal, subject: id)
            }
        } else if !order.isNoted(nil, in: receipts) {
            try log.note(.reseal, resources: Int64(finished.count))
        }
        noteChange()
        try withDiskSpace {
            try index.changeSettings { if $0.resealOrder?.run == order.run { $0.resealOrder = nil } }
        }
    }
}

/// A segment that is still sealed under an old key of its resource.
package struct ResealTask: Sendable {
    package let segment: SegmentDescription
    /// Whether the segment is still growing. It is then resealed only after it is closed.
    package let isOpen: Bool
    /// The blocks whose tag failed. They are gaps, and stay gaps.
    package let badBlocks: Set<Int>
}
