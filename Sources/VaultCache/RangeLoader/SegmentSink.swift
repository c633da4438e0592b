import VaultModel
import VaultStorage

/// Seals one fetch's bytes into segments.
///
/// It begins a segment if there is none, closes it if it is full or the next bytes do not follow on, and makes it
/// durable at intervals. Only one task uses a sink, and its calls block.
final class SegmentSink {
    private let loader: ResourceLoader
    private let fetch: FetchState.ID
    private var writer: SegmentWriter?
    /// The place of the resource's bytes in a pack; nil if they are in no pack. In a pack, the writer uses the pack's
    /// offsets.
    private var place: PackPlace?
    private var writing: SegmentID?
    private var committed: Int64 = 0
    private var lastCommit = ContinuousClock.now

    /// The maximum number of bytes written, and the maximum time, before written bytes are made durable.
    private static let checkpointBytes: Int64 = 4 << 20
    private static let checkpointTime: Duration = .seconds(2)

    init(loader: ResourceLoader, fetch: FetchState.ID) {
        self.loader = loader
        self.fetch = fetch
    }

    /// Seals bytes that begin at `offset` in the representation.
    func seal(_ bytes: ArraySlice<UInt8>, at offset: Int64) throws {
        var rest = bytes
        while !rest.isEmpty {
            let position = offset + Int64(rest.startIndex - bytes.startIndex)
            if writer?.end != position + (place?.offset ?? 0) || writer?.capacity == 0 {
                try close()
                try begin(at: position)
            }
            let part = rest.prefix(Int(min(writer?.capacity ?? 0, Int64(rest.count))))
            try writer?.append(part, in: loader.store, estimate(at: position))
            rest = rest.dropFirst(part.count)
            if let segment = writer?.segment { noteSealed(segment) }
        }
        try checkpointIfDue()
    }

    private func noteSealed(_ segment: SegmentDescription) {
        let segment = place?.moved(segment) ?? segment
        loader.change { $0.sealed(segment, by: fetch) }
    }

    /// Closes the segment being written, including its last, short block.
    func close() throws {
        guard let writer = writer.take() else { return }
        let end = writer.end
        let segment = try loader.store.segments.close(writer)
        writing = nil
        if let segment {
            noteSealed(segment)
            try loader.record.serve(segment.representation)
        }
        guard segment?.range.upperBound ?? end == end else {
            throw VaultError(
                .diskFull, "the last block of a segment could not be written; free disk space and try again")
        }
    }

    /// Gives up the segment being written, after a failure.
    ///
    /// The store has closed or invalidated the segment, or will do so when the vault is next opened.
    ///
    /// - Returns: the segment that readers must no longer use; nil if there is none.
    func giveUp() -> SegmentID? {
        defer { writing = nil }
        guard let writer = writer.take() else { return writing }
        // Complete blocks are kept if they can be made durable; if not, the store invalidates them.
        guard let segment = try? loader.store.segments.close(writer) else { return writing }
        noteSealed(segment)
        return nil
    }

    private func begin(at offset: Int64) throws {
        guard let representation = loader.look({ $0.fetches[fetch]?.representation }) else {
            throw VaultError(.changed, "the content changed while it was being stored; open it again")
        }
        place = loader.record.place
        let begun = try loader.record.beginSegment(at: offset, of: representation, estimate(at: offset))
        writing = begun.segment.id
        writer = consume begun
        committed = 0
        lastCommit = .now
    }

    /// Whether other resources may be evicted to make room for the current write.
    var mayEvict: Bool { estimate(at: 0).mayEvict }

    private func estimate(at position: Int64) -> WriteEstimate {
        let (length, end, isEndless) = loader.look { state in
            (state.known.information?.length, state.fetches[fetch]?.end, state.known.isEndless)
        }
        return WriteEstimate(
            length: length, expected: end.map { max(0, $0 - position) } ?? 0,
            mayEvict: length != nil || ends && !isEndless)
    }

    /// Whether the resource is known to end even if its length is unknown. A part of a title ends, and so does a
    /// resource fetched by name. One that is only played may be a web radio stream.
    private var ends: Bool { loader.record.metadata?.partOf.isEmpty == false || loader.record.isKept }

    private func checkpointIfDue() throws {
        guard let length = writer?.segment.length, length > committed else { return }
        guard length - committed >= Self.checkpointBytes || .now - lastCommit >= Self.checkpointTime else { return }
        try writer?.checkpoint(in: loader.store)
        if let representation = writer?.segment.representation { try loader.record.serve(representation) }
        committed = length
        lastCommit = .now
    }
}

/// Seals a fetch's received bytes into segments, on the pool's threads, while the receiver runs ahead.
struct FetchSealer {
    let id: FetchState.ID
    let loader: ResourceLoader

    func run() async {
        await withTaskExecutorPreference(loader.pool) {
            let sink = SegmentSink(loader: loader, fetch: id)
            while true {
                switch loader.change({ $0.sealWork(id) }) {
                case .wait:
                    await loader.wait { state, waiter in state.fetches[id]?.sealerSignal.wait(waiter) ?? false }
                case .seal(let bytes, let offset):
                    attempt(sink, { try sink.seal(bytes, at: offset) })
                case .close:
                    attempt(sink, { try sink.close() })
                case .finish:
                    if attempt(sink, { try sink.close() }) { return }
                }
            }
        }
    }

    /// Runs one sealing or closing step.
    ///
    /// If the store refuses, the readers continue without it, because caching must never make playback fail. If the
    /// disk is full, space is freed and the bytes that did not fit are sealed again.
    ///
    /// - Returns: false if there are bytes to seal again.
    @discardableResult
    private func attempt(_ sink: SegmentSink, _ work: () throws -> Void) -> Bool {
        do {
            try work()
            return true
        } catch {
            let failure = error as? VaultError ?? VaultError(.storage, "the store failed: \(error)")
            // Free space first, because the bytes already written count only once the index is updated.
            let hasSpace = failure.code == .diskFull && sink.mayEvict && loader.store.quota.freeDiskSpace()
            let lost = sink.giveUp()
            if hasSpace, loader.change({ $0.rewind(id, lost: lost) }) { return false }
            loader.change { $0.storeFailed(id, segment: lost, failure) }
            return true
        }
    }
}
