import VaultModel
import VaultStorage

// The changes that a repair makes in the index and in loaders.
extension Verifier {
    /// Invalidates a block or a whole segment, so that its bytes become a gap.
    func invalidate(_ segment: SegmentID, for failure: SegmentFailure, of resource: ResourceID) async throws {
        let store = store
        for loader in loaders.loaders(reading: resource) {
            loader.opened.drop(segment)
            loader.change { state in
                state.invalidate(segment, for: failure)
                return Effects()
            }
        }
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
            loader.change { state in
                // The loader may already know the segment from an incorrect row.
                state.map.remove(segment.id, isDamaged: false)
                state.map.put(segment)
                return Effects()
            }
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
        // Other readers may have fetched some of these ranges since the check; those bytes must not be counted.
        let missing = loader.look { state in gaps.subtracting(state.map.covered) }
        for range in missing.ranges { try await refetch(range, by: loader) }
        let (rest, failure) = loader.look { state in (gaps.subtracting(state.map.covered), state.storeFailure) }
        guard rest.isEmpty else {
            throw failure ?? VaultError(.storage, "\(loader.url) could not be stored; free some space and verify again")
        }
        return missing.byteCount
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
            let own = loader.record.place?.moved(segment) ?? segment
            loader.change { state in
                state.map.put(own)
                return Effects()
            }
        }
    }

    private func refetch(_ range: ByteRange, by loader: ResourceLoader) async throws {
        let reader = loader.change { state in
            let id = state.addReader(range)
            state.readers[id]?.keepsRepresentation = true
            return (id, Effects())
        }
        var fetches: Set<FetchState.ID> = []
        var failure: (any Error)?
        do {
            var cursor = GapCursor(loader, reader, from: range.lowerBound)
            while true {
                if case .ended = try await cursor.next(noting: { fetches.insert($0) }) { break }
            }
        } catch {
            failure = error
        }
        loader.change { $0.removeReader(reader) }
        await loader.settle(fetches)
        guard let failure else { return }
        guard (failure as? VaultError)?.code == .changed else { throw failure }
        throw VaultError(
            .changed,
            "\(loader.url) has changed at its origin, so it cannot be repaired; remove it and fetch it again")
    }
}
