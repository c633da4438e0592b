import VaultCrypto
package import VaultModel

/// Gives new keys to resources whose keys may have leaked: the resource's rows are resealed first, then each segment, and
/// the old keys are deleted last.
package struct SegmentReseal {
    private let store: VaultStore

    package init(_ store: VaultStore) { self.store = store }

    /// The number of plaintext bytes that are opened and sealed at a time.
    private static let resealChunk: Int64 = 256 << 10

    /// Gives a resource a new key, at most once per run.
    ///
    /// The caller ensures that no other task changes the resource during this call, or continues with its former state
    /// afterwards.
    ///
    /// - Returns: whether a segment remains to be resealed or an old key to be removed; nil if the resource is gone.
    package func begin(_ resource: inout StoredResource, run: Int64) throws -> Bool? {
        let id = resource.id
        let begun = try store.mutate { index in try ResealRows(index).beginReseal(id, run: run) }
        guard let begun else { return nil }
        // The representation in memory stays valid, because the rows of its segments are unchanged. It may be one that
        // has been begun and is not served yet.
        resource = begun.serving(resource.serving)
        return begun.keys.count > 1
    }

    /// Reseals a closed segment under the key in use.
    ///
    /// A new file with a new id is written and synced; then one transaction replaces the old row with the new one. The
    /// old file stays until ``removeReplaced(_:by:)``.
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
                let begin = { try SegmentRows(store.index).begin(segment, now: store.index.now()) }
                try keepsLimits ? begin() : store.withDiskSpace(begin)
                new.append(segment)
                let last = new.endIndex - 1
                if keepsLimits {
                    var whole = new[last]
                    whole.length = run.length
                    guard store.quota.account.reserve(whole.diskSize, for: whole.id) == nil else {
                        throw VaultError(
                            .quotaExceeded, "no space to join segments; raise the limit, or remove something")
                    }
                } else {
                    store.quota.account.trackUncounted(new[last].id)
                }
                try copy(run, of: old, to: &new[last], resource)
            }
            let exchange = { [new] in try SegmentRows(store.index).exchange(old, for: new) }
            if try keepsLimits ? exchange() : store.withDiskSpace(exchange) { return new }
            for segment in new { try store.segments.discard(segment.id, keepsLimits: keepsLimits) }
            return nil
        } catch {
            for segment in new { try store.segments.discard(segment.id, keepsLimits: keepsLimits) }
            throw SegmentTable.translated(error, "a segment cannot be resealed")
        }
    }

    private func begun(
        at start: Int64, like old: SegmentDescription, of resource: StoredResource
    ) throws -> SegmentDescription {
        SegmentDescription(
            id: try SecureRandom.identifier("segment id"), representation: old.representation,
            keyNumber: resource.keyNumber, blockSize: VaultStore.blockSize, start: start, length: 0)
    }

    private func copy(
        _ run: ByteRange, of old: [SegmentDescription], to new: inout SegmentDescription, _ resource: StoredResource
    ) throws {
        guard let key = resource.keys[resource.keyNumber] else { throw IndexError.damaged }
        var writer = try SegmentWriter(new, resourceKey: key.secret, file: try store.segmentFiles.create(new.id))
        // Several blocks are written at a time, because a new segment that fails is abandoned as a whole.
        writer.blocksInRun = 8
        for segment in old {
            let part = segment.range.clamped(to: run)
            guard !part.isEmpty else { continue }
            let reader = try store.segments.reader(of: segment, resource: resource)
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
        try store.segmentFiles.synchronizeName(of: new.id)
        new = writer.segment
        store.work.sealed.count(new.length)
    }

    /// Removes the files of segments whose bytes are now held by other segments.
    package func removeReplaced(_ old: [SegmentDescription], by new: [SegmentDescription]) {
        store.quota.account.track(old)
        // A file that cannot be removed now remains listed as a pending deletion.
        _ = try? store.removal.removeFiles(of: old.map(\.id))
        for segment in new { store.quota.account.settle(segment.id, size: segment.diskSize) }
    }

    /// Removes the old keys of a resource if none of its segments needs them any more.
    ///
    /// - Returns: whether the old keys were removed; false if a segment still needs one.
    package func finish(_ resource: inout StoredResource) throws -> Bool {
        let current = resource
        guard try store.withDiskSpace({ try ResealRows(store.index).dropOldKeys(of: current) }) else { return false }
        store.noteChange()
        resource = current.keeping(key: current.keyNumber)
        return true
    }

    // MARK: The reseal order

    /// Records an order to reseal resources, which also includes those of an unfinished order.
    ///
    /// - Parameter log: the audit log that will get the receipts.
    package func order(
        of resources: Set<ResourceID>?, bytesPerSecond: Int64?, noting log: AuditLog
    ) throws -> ResealOrder {
        let after = try log.lastSequence()
        return try store.mutate { index in
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
    package func finishOrder(
        _ order: ResealOrder, of finished: [ResourceID], noting log: AuditLog
    ) throws {
        try store.erasure.erase()
        let receipts = try log.receipts(after: order.after)
        if let named = order.resources {
            for id in finished where named.contains(id) && !order.isNoted(log.subject(of: id), in: receipts) {
                try log.note(.reseal, subject: id)
            }
        } else if !order.isNoted(nil, in: receipts) {
            try log.note(.reseal, resources: Int64(finished.count))
        }
        try store.mutate { index in
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
