import VaultModel
import VaultStorage

// What repairing changes, in the index and in the loaders that live.
extension Vault {
    /// Makes a block, or a whole segment, a gap.
    func condemn(_ segment: SegmentID, for failure: SegmentFailure, of resource: ResourceID) async throws {
        let (store, loader) = (store, loader(of: resource))
        loader?.opened.drop(segment)
        loader?.change { state in
            state.condemn(segment, for: failure)
            return Effects()
        }
        try await pool.run { try store.condemn(segment, size: store.index.fileBytes(of: segment), for: failure) }
        store.changes.note(resource)
    }

    /// Takes a file in that is a whole segment by its own header.
    ///
    /// - Returns: false where its bytes are held, or are being fetched: the next check will look at it again.
    func adopt(_ claimed: ClaimedSegment) async throws -> Bool {
        let loader = loader(of: claimed.resource)
        guard loader?.isIdle ?? true else { return false }
        let (store, segment) = (store, claimed.segment)
        guard try await pool.run({ try store.adopt(segment) }) else { return false }
        store.changes.note(claimed.resource)
        if let loader, loader.record.representation == segment.representation {
            loader.change { state in
                // Under a row that was wrong it may be there already.
                state.map.remove(segment.id, isDamaged: false)
                state.map.put(segment)
                return Effects()
            }
        }
        return true
    }

    /// Fetches ranges of a representation anew, and nothing else; returns when they are durable.
    ///
    /// - Returns: how many bytes came.
    /// - Throws: ``VaultError`` whose message says why they cannot be had and what to do.
    func mend(
        _ gaps: ByteRanges, of representation: RepresentationID, _ resource: StoredResource
    ) async throws -> Int64 {
        let (loader, lease) = try use(resource)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        guard loader.record.representation == representation else {
            throw VaultError(.changed, "\(loader.url) was replaced while it was checked; verify again")
        }
        guard !loader.isOffline else {
            throw VaultError(.notHeld, "\(loader.url) can be mended only online; verify again with --repair then")
        }
        guard loader.known?.validators.canVerify ?? false else {
            throw VaultError(
                .changed,
                "\(loader.url) has nothing that tells one version from another; remove it and fetch it again")
        }
        // Missing before: others may fetch the same ranges meanwhile, and those bytes are theirs.
        let missing = loader.look { state in gaps.subtracting(state.map.covered) }
        for range in missing.ranges { try await refetch(range, by: loader) }
        let (rest, failure) = loader.look { state in (gaps.subtracting(state.map.covered), state.storeFailure) }
        guard rest.isEmpty else {
            throw failure ?? VaultError(.storage, "\(loader.url) could not be stored; make room and verify again")
        }
        return missing.byteCount
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
            var walk = GapCursor(loader, reader, from: range.lowerBound)
            while true {
                if case .ended = try await walk.next(noting: { fetches.insert($0) }) { break }
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
            "\(loader.url) has changed at its origin, so its bad ranges cannot be mended; remove it and fetch it again")
    }
}
