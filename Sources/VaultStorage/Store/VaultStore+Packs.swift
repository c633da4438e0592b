import VaultCrypto
package import VaultModel

// Packs: the small files of a title, one after the other in the segments of one resource.
extension VaultStore {
    /// Adds an empty pack to a title.
    ///
    /// Each fetch of a title that stores small files begins a pack of its own, so that no offset in a pack is ever used
    /// for two different files. A row that is restored after a removal therefore names its own bytes, or none.
    ///
    /// - Parameters:
    ///   - title: the cache key of the title's manifest.
    ///   - url: the URL of the manifest.
    ///   - resourceClass: the class of the title.
    /// - Throws: ``VaultError`` with code `removed` if the vault does not have the title, because nothing would ever
    ///   remove the pack.
    package func addPack(
        of title: [UInt8], url: String, resourceClass: ResourceClass
    ) throws -> StoredResource {
        let key = ResourceMetadata.packKey(try SecureRandom.bytes(16, "pack"))
        guard let id = keyring.resourceID(cacheKey: key, locator: index.locator),
            let titleID = keyring.resourceID(cacheKey: title, locator: index.locator)
        else { throw IndexError.damaged }
        var metadata = ResourceMetadata(url: url, cacheKey: key, created: now())
        metadata.partOf = [title]
        let content = ContentInformation(length: nil, type: nil, validators: Validators(), supportsRanges: true)
        let representation = try StoredRepresentation(NewRepresentation(content), sequence: 1, now: now())
        noteChange()
        defer { changes.note(id) }
        return try withDiskSpace {
            try index.resources.add(
                id, metadata: metadata, resourceClass: resourceClass, now: now(), of: titleID,
                beginning: representation)
        }
    }

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
            quota.account.settle(segment.id, size: segment.diskSize)
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
}

extension SegmentWriter {
    /// Stops starting writeback early: a pack is synced so often that the syncs suffice.
    package mutating func leaveWritebackToSyncs() { startsWriteback = false }
}
