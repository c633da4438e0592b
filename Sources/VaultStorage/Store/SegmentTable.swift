import VaultCrypto
package import VaultModel

/// The segments: their rows together with their files.
///
/// A segment is written in the order that ``VaultStore`` states, so that its row never has bytes that its file lacks.
package struct SegmentTable {
    let store: VaultStore

    // MARK: Writing

    /// Begins a segment of a resource's serving representation: adds its row first, then creates its file.
    ///
    /// Missing bytes of a part that is stored in a pack are written into the pack, so the writer's segment has the
    /// offsets of the pack.
    ///
    /// - Parameter start: the offset of the segment's first byte in the representation.
    /// - Throws: ``VaultError`` with code `quotaExceeded` if the limits allow no further file, or `diskFull` or
    ///   `storage` if the segment cannot be written.
    package func begin(
        at start: Int64, of resource: StoredResource, _ estimate: WriteEstimate = WriteEstimate()
    ) throws -> SegmentWriter {
        var (segment, key) = try Self.empty(at: start, of: resource, otherwise: "open the resource again")
        if let place = resource.place { segment = place.restored(segment) }
        try store.quota.admit(segment.diskSize, for: segment.id, estimate)
        do {
            try store.withDiskSpace { try SegmentRows(store.index).begin(segment, now: store.index.now()) }
        } catch {
            store.quota.account.remove(segment.id, size: 0)
            throw error
        }
        do {
            let file = try store.segmentFiles.create(segment.id)
            return try SegmentWriter(segment, resourceKey: key.secret, file: file)
        } catch {
            try discard(segment.id)
            throw Self.translated(error, "a segment cannot be written")
        }
    }

    /// Returns a new segment of a resource's serving representation, and the key that seals it.
    ///
    /// - Parameter advice: what to do if the resource has no representation or no key.
    static func empty(
        at start: Int64, of resource: StoredResource, otherwise advice: String
    ) throws -> (segment: SegmentDescription, key: SharedKey) {
        guard let representation = resource.serving, let key = resource.keys[resource.keyNumber] else {
            throw VaultError(.storage, "a segment needs a representation; \(advice)")
        }
        let segment = SegmentDescription(
            id: try SecureRandom.identifier("segment id"), representation: representation.id,
            keyNumber: resource.keyNumber, blockSize: VaultStore.blockSize, start: start, length: 0)
        return (segment, key)
    }

    /// Makes the whole blocks of a growing segment durable and commits them.
    package func checkpoint(_ writer: inout SegmentWriter) throws {
        try commit(&writer, closed: false)
    }

    /// Closes a segment for good: seals the short last block, then makes everything durable and commits it.
    ///
    /// - Returns: the segment, which ends at its last whole block if the short one could not be written; nil if it has
    ///   no bytes and was removed.
    /// - Throws: ``VaultError`` if the segment could not be made durable; it is then pending deletion.
    package func close(_ writer: consuming SegmentWriter) throws -> SegmentDescription? {
        var writer = writer
        writer.finish()
        guard writer.segment.length > 0 else {
            try discard(writer.segment.id)
            return nil
        }
        try commit(&writer, closed: true)
        store.quota.account.settle(writer.segment.id, size: writer.segment.diskSize)
        return writer.segment
    }

    @discardableResult
    private func commit(
        _ writer: inout SegmentWriter, closed: Bool, packed: (parts: [PackedPart], pack: ResourceID)? = nil
    ) throws -> [ResourceID] {
        let segment = writer.segment
        do {
            try writer.synchronize()
            if !writer.isNameDurable { try store.segmentFiles.synchronizeName(of: segment.id) }
            writer.isNameDurable = true
            var unrecorded: [ResourceID] = []
            try store.countingFetched { fetched in
                unrecorded = try store.withDiskSpace {
                    try SegmentRows(store.index).commit(segment, closed: closed, fetched: fetched, packed: packed)
                }
            }
            return unrecorded
        } catch {
            // After a failed sync, the row is deleted before anything else can read pages that the disk never received.
            try discard(segment.id)
            throw Self.translated(error, "a segment cannot be made durable")
        }
    }

    /// Returns the error for a failure to write or read a file; any other error is returned unchanged.
    static func translated(_ error: any Error, _ what: String) -> any Error {
        (error as? FileFailure)?.vaultError(what) ?? error
    }

    /// Abandons a segment: deletes its row, then its file.
    ///
    /// - Parameter keepsLimits: whether to do this without evicting anything or giving up the reserve.
    package func discard(_ id: SegmentID, keepsLimits: Bool = false) throws {
        let drop = { try SegmentRows(store.index).drop(id, deletesFile: true) }
        try store.removal.abandon(id) { _ = try keepsLimits ? drop() : store.withDiskSpace(orReserve: true, drop) }
        try store.removal.removeFiles(of: [id])
    }

    // MARK: Packs

    /// Makes the whole blocks of a pack's growing segment durable, and records the files that end within them.
    ///
    /// - Parameter waiting: the files that are being written. Files that become durable are removed from this list.
    /// - Returns: the files that are not recorded, because they have become resources of their own.
    /// - Throws: ``VaultError`` if the bytes could not be made durable; the segment is then pending deletion.
    package func checkpoint(
        _ writer: inout SegmentWriter, recording waiting: inout [PackedPart], in pack: ResourceID
    ) throws -> [ResourceID] {
        let durable = Self.take(&waiting, through: writer.segment.range.upperBound)
        return try commit(&writer, closed: false, packed: (durable, pack))
    }

    /// Closes a pack's segment for good, and records the files that end within it.
    ///
    /// - Returns: the files that are not recorded, because they have become resources of their own.
    /// - Throws: ``VaultError`` if the bytes could not be made durable; the segment is then pending deletion.
    package func close(
        _ writer: consuming SegmentWriter, recording waiting: inout [PackedPart], in pack: ResourceID
    ) throws -> [ResourceID] {
        var writer = writer
        let end = writer.end
        writer.finish()
        let segment = writer.segment
        if segment.length > 0 {
            let durable = Self.take(&waiting, through: segment.range.upperBound)
            let unrecorded = try commit(&writer, closed: true, packed: (durable, pack))
            store.quota.account.settle(segment.id, size: segment.diskSize)
            if segment.range.upperBound == end { return unrecorded }
        } else {
            try discard(segment.id)
        }
        throw VaultError(.diskFull, "the last block of a segment could not be written; free disk space and try again")
    }

    private static func take(_ waiting: inout [PackedPart], through end: Int64) -> [PackedPart] {
        let durable = waiting.prefix { $0.range.upperBound <= end }
        waiting.removeFirst(durable.count)
        return Array(durable)
    }

    // MARK: Reading

    /// Opens a segment for reading.
    ///
    /// - Throws: ``SegmentFailure`` if the segment cannot be opened.
    package func reader(of segment: SegmentDescription, resource: StoredResource) throws -> SegmentReader {
        guard let key = resource.keys[segment.keyNumber] else { throw SegmentFailure.wrongKey }
        return try SegmentReader(
            resource.place?.restored(segment) ?? segment, resourceKey: key.secret, in: store.segmentFiles,
            pin: store.isOwner ? store.quota.account.pin(segment.id) : nil, work: store.work)
    }

    /// Records a failure to read a segment, so that the block or the whole segment becomes a gap.
    ///
    /// A store that does not own the vault only counts the damage.
    package func invalidate(_ segment: SegmentDescription, for failure: SegmentFailure) throws {
        try invalidate(segment.id, size: segment.diskSize, for: failure)
    }

    /// Records a failure to read a segment whose row has invalid numbers.
    ///
    /// The space of its file stays counted until the vault is opened again.
    package func invalidate(_ id: SegmentID, size: Int64 = 0, for failure: SegmentFailure) throws {
        if failure.isDamage { store.work.damaged.count(1) }
        guard store.isOwner else { return }
        switch failure {
        case .badBlock(let block): try SegmentRows(store.index).markBad(id, block: block)
        case .missing:
            if try SegmentRows(store.index).drop(id, deletesFile: false) { store.quota.account.remove(id, size: size) }
        case .foreign, .wrongKey:
            guard try SegmentRows(store.index).drop(id, deletesFile: false) else { return }
            do throws(FileFailure) {
                try store.segmentFiles.quarantine(id)
            } catch {
                // The row is gone, so the file is never served again. A file that could not be moved still takes space,
                // and stays counted.
                guard error.kind == .notFound else { return }
            }
            store.quota.account.remove(id, size: size)
        case .unreadable: break
        }
    }

    /// Returns a range of a resource's bytes, opened with the key of each segment.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if a byte is not held, `integrity` if a byte does not open, or
    ///   `storage` if a segment cannot be read.
    package func bytes(_ range: ByteRange, of resource: StoredResource) throws -> [UInt8] {
        guard let serving = resource.serving, serving.held.gaps(in: range).isEmpty else {
            throw VaultError(.notHeld, "a range to compare is not held; fetch the title")
        }
        var bytes: [UInt8] = []
        for segment in serving.segments {
            let part = segment.range.clamped(to: range)
            guard !part.isEmpty else { continue }
            do {
                bytes += try reader(of: segment, resource: resource).bytes(part, of: segment)
            } catch let failure as SegmentFailure {
                if case .unreadable(let file) = failure { throw file.vaultError("a segment cannot be read") }
                throw VaultError(.integrity, "bytes to compare do not open; verify the vault", hint: .repair)
            }
        }
        return bytes
    }
}

extension SegmentWriter {
    /// Appends bytes as ``append(_:)`` does, after the quota has admitted them.
    ///
    /// - Throws: ``VaultError`` with code `quotaExceeded` if the limits do not allow the bytes, or `diskFull` or
    ///   `storage` if they cannot be written.
    package mutating func append(_ bytes: ArraySlice<UInt8>, in store: VaultStore, _ estimate: WriteEstimate) throws {
        try store.quota.admit(
            SegmentDescription.diskSize(ofFile: fileSize(after: bytes.count)), for: segment.id, estimate)
        do throws(FileFailure) {
            try append(bytes)
        } catch {
            throw error.vaultError("a segment cannot be written")
        }
        store.work.sealed.count(Int64(bytes.count))
    }

    /// Makes the whole blocks durable and commits them.
    package mutating func checkpoint(in store: VaultStore) throws { try store.segments.checkpoint(&self) }

    /// Stops starting writeback early, because a pack is synced often enough without it.
    package mutating func leaveWritebackToSyncs() { startsWriteback = false }
}
