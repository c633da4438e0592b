import VaultCrypto
package import VaultModel

extension VaultStore {
    /// Begins a segment of a resource's serving representation: adds its row first, then creates its file.
    ///
    /// Missing bytes of a part that is stored in a pack are written into the pack, so the writer's segment has the
    /// offsets of the pack.
    ///
    /// - Parameter start: the offset of the segment's first byte in the representation.
    /// - Throws: ``VaultError`` with code `quotaExceeded` if the limits allow no further file, or `diskFull` or
    ///   `storage` if the segment cannot be written.
    package func beginSegment(
        at start: Int64, of resource: StoredResource, _ estimate: WriteEstimate = WriteEstimate()
    ) throws -> SegmentWriter {
        guard let representation = resource.serving, let key = resource.keys[resource.keyNumber] else {
            throw VaultError(.storage, "a segment needs a representation; open the resource again")
        }
        var segment = SegmentDescription(
            id: try SecureRandom.identifier("segment id"), representation: representation.id,
            keyNumber: resource.keyNumber, blockSize: Self.blockSize, start: start, length: 0)
        if let place = resource.place { segment = place.restored(segment) }
        try quota.admit(segment.diskSize, for: segment.id, estimate)
        do {
            try withDiskSpace { try SegmentRows(index).begin(segment, now: now()) }
        } catch {
            quota.account.remove(segment.id, size: 0)
            throw error
        }
        do {
            let file = try segments.create(segment.id)
            return try SegmentWriter(segment, resourceKey: key.secret, file: file)
        } catch {
            try discard(segment.id)
            throw Self.translated(error, "a segment cannot be written")
        }
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
        quota.account.settle(writer.segment.id, size: writer.segment.diskSize)
        return writer.segment
    }

    @discardableResult
    func commit(
        _ writer: inout SegmentWriter, closed: Bool, packed: (parts: [PackedPart], pack: ResourceID)? = nil
    ) throws -> [ResourceID] {
        let segment = writer.segment
        do {
            try writer.synchronize()
            if !writer.isNameDurable { try segments.synchronizeName(of: segment.id) }
            writer.isNameDurable = true
            var unrecorded: [ResourceID] = []
            try countingFetched { fetched in
                unrecorded = try withDiskSpace {
                    try SegmentRows(index).commit(segment, closed: closed, fetched: fetched, packed: packed)
                }
            }
            return unrecorded
        } catch {
            // After a failed sync, the row is deleted before anything else can read pages that the disk never received.
            try discard(segment.id)
            throw Self.translated(error, "a segment cannot be made durable")
        }
    }

    static func translated(_ error: any Error, _ what: String) -> any Error {
        (error as? FileFailure)?.vaultError(what) ?? error
    }

    /// Abandons a segment: deletes its row, then its file.
    ///
    /// - Parameter keepsLimits: whether to do this without evicting anything or giving up the reserve.
    package func discard(_ id: SegmentID, keepsLimits: Bool = false) throws {
        let drop = { try SegmentRows(self.index).drop(id, deletesFile: true) }
        try removal.abandon(id) { _ = try keepsLimits ? drop() : withDiskSpace(orReserve: true, drop) }
        try removal.removeFiles(of: [id])
    }

    /// Opens a segment for reading.
    ///
    /// - Throws: ``SegmentFailure`` if the segment cannot be opened.
    package func reader(of segment: SegmentDescription, resource: StoredResource) throws -> SegmentReader {
        guard let key = resource.keys[segment.keyNumber] else { throw SegmentFailure.wrongKey }
        return try SegmentReader(
            resource.place?.restored(segment) ?? segment, resourceKey: key.secret, in: segments,
            pin: isOwner ? quota.account.pin(segment.id) : nil, work: work)
    }

    /// Records a failure to read a segment, so that the block or the whole segment becomes a gap.
    ///
    /// A store that does not own the vault only counts the damage.
    package func invalidate(_ segment: SegmentDescription, for failure: SegmentFailure) throws {
        try invalidate(segment.id, size: segment.diskSize, for: failure)
    }

    /// Records a failure to read a segment whose row has impossible numbers.
    ///
    /// The space of its file stays counted until the vault is opened again.
    package func invalidate(_ id: SegmentID, size: Int64 = 0, for failure: SegmentFailure) throws {
        if failure.isDamage { work.damaged.count(1) }
        guard isOwner else { return }
        switch failure {
        case .badBlock(let block): try SegmentRows(index).markBad(id, block: block)
        case .missing:
            if try SegmentRows(index).drop(id, deletesFile: false) { quota.account.remove(id, size: size) }
        case .foreign, .wrongKey:
            guard try SegmentRows(index).drop(id, deletesFile: false) else { return }
            do throws(FileFailure) {
                try segments.quarantine(id)
            } catch {
                // The row is gone, so the file is never served again. A file that could not be moved still takes space,
                // and stays counted.
                guard error.kind == .notFound else { return }
            }
            quota.account.remove(id, size: size)
        case .unreadable: break
        }
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
    package mutating func checkpoint(in store: VaultStore) throws { try store.checkpoint(&self) }
}
