import VaultCache
import VaultModel
import VaultStorage

// The changes that a repair makes in the index and in loaders.
extension Verifier {
    /// Invalidates a block or a whole segment, so that its bytes become a gap.
    func invalidate(_ segment: SegmentID, for failure: SegmentFailure, of resource: ResourceID) async throws {
        let store = store
        for loader in loaders.loaders(reading: resource) { loader.drop(segment, for: failure) }
        try await pool.run {
            let size = try SegmentRows(store.index).fileBytes(of: segment)
            try store.segments.invalidate(segment, size: size, for: failure)
        }
        store.changes.note(resource)
    }

    /// Adopts a file that is a complete segment according to its own header.
    ///
    /// - Returns: false if its bytes are already held or its resource is in use. The next check then tries again.
    func adopt(_ claimed: ClaimedSegment) async throws -> Bool {
        let loader = loaders.loader(of: claimed.resource)
        guard loader?.isIdle ?? true else { return false }
        let (store, segment) = (store, claimed.segment)
        guard try await pool.run({ try UnindexedFiles(store).adopt(segment) }) else { return false }
        store.changes.note(claimed.resource)
        if let loader, loader.record.representation == segment.representation {
            loader.put(segment)
        }
        return true
    }

    /// Fetches the given ranges of a representation again, and returns when they are durable.
    ///
    /// - Returns: the number of bytes that were missing and have been fetched.
    /// - Throws: ``VaultError`` whose message says why the ranges cannot be fetched, and what to do.
    func mend(
        _ gaps: ByteRanges, of representation: RepresentationID, _ resource: StoredResource
    ) async throws -> Int64 {
        let (loader, lease) = try loaders.use(resource)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        guard loader.record.representation == representation else {
            throw VaultError(.changed, "\(loader.url) was replaced while it was checked; verify again")
        }
        guard !loader.isOffline else {
            throw VaultError(.notHeld, "\(loader.url) can be repaired only online; repair it then", hint: .repair)
        }
        guard loader.known?.validators.canVerify ?? false else {
            throw VaultError(
                .changed,
                "\(loader.url) has no validator to tell its versions apart; remove it and fetch it again")
        }
        return try await GapCursor.refetch(gaps, by: loader)
    }

    /// Copies a range of a part into a pack, from the copy of the part that readers use.
    func copy(_ range: ByteRange, of part: PackedPart, to pack: StoredResource) async throws {
        let (store, id, url) = (store, part.id, try MediaURL(part.metadata.url))
        let (loader, lease) = try loaders.use(pack)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        let record = loader.record
        guard let representation = record.representation else { throw ResourceRecord.removed }
        let segment = try await pool.run {
            var source = try ExportSource(store, id, url)
            var bytes: [UInt8] = []
            while bytes.count < range.length {
                bytes += try source.bytes(at: range.lowerBound + Int64(bytes.count), of: store)
            }
            let start = part.range.lowerBound + range.lowerBound
            var writer = try record.beginSegment(at: start, of: representation, WriteEstimate())
            try writer.append(bytes.prefix(Int(range.length)), in: store, WriteEstimate())
            return try store.segments.close(writer)
        }
        guard let segment, segment.length == range.length else {
            throw VaultError(.diskFull, "\(url) could not be stored; free some space and verify again")
        }
        for loader in loaders.loaders(reading: pack.id) {
            loader.put(loader.record.place?.moved(segment) ?? segment)
        }
    }
}
