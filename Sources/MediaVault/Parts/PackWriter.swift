import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

/// Writes the small files of a title into a pack, one after the other.
///
/// Many files share a segment, a key and a sync, because storing each file separately would cost four rows and about
/// four syncs. Several lanes may add files. A file is recorded in the transaction that makes its last byte durable;
/// files that are not yet recorded when the process ends are fetched again.
final class PackWriter: Sendable {
    private let loaders: LoaderTable
    private let title: NamedResource
    private let resourceClass: ResourceClass
    /// Serializes additions and commits, so that only one of them at a time blocks a pool thread.
    private let turn = AsyncLock()
    private let work = Locked(Work())

    private struct Work: ~Copyable {
        var pack: Pack?
        var writer: SegmentWriter?
        /// The position after the last byte written.
        var end: Int64 = 0
        /// The files that are written but not yet recorded, in the order of their bytes.
        var waiting: [PackedPart] = []
        var pace = PackPace()
        /// The files that were recorded since their loaders were last notified.
        var recorded: [ResourceID] = []
        /// The files that were not recorded, because they had become resources of their own.
        var unrecorded: Set<ResourceID> = []
        /// The error that prevents further writing; nil while writing works.
        var failure: (any Error)?
    }

    private struct Pack: Sendable {
        let record: ResourceRecord
        let representation: RepresentationID
        let lease: LoaderLease
    }

    /// - Parameters:
    ///   - title: the manifest of the title.
    ///   - resourceClass: the class of the title.
    init(_ loaders: LoaderTable, of title: NamedResource, _ resourceClass: ResourceClass) {
        self.loaders = loaders
        self.title = title
        self.resourceClass = resourceClass
    }

    private var store: VaultStore { loaders.environment.store }
    private var pool: BlockingPool { loaders.environment.pool }

    /// Adds a file to the pack.
    ///
    /// - Parameter record: the file's record as a resource.
    /// - Throws: ``VaultError`` if the file cannot be stored. After that, no more files can be added.
    func add(_ file: BufferedFile, of record: ResourceRecord) async throws {
        try await inTurn { [self] in
            let pack = try await begun()
            try await pool.run { [self] in try write(file, of: record, to: pack) }
        }
    }

    /// Makes files durable that were written at least a second ago.
    func commitIfDue() async throws {
        try await inTurn { [self] in try await pool.run { [self] in try commitWhatIsDue() } }
    }

    /// Makes all files durable. After that, no more files can be added.
    ///
    /// - Returns: the files that were not recorded, because they had become resources of their own.
    func finish() async throws -> Set<ResourceID> {
        try await inTurn { [self] in try await pool.run { [self] in try closeForGood() } }
    }

    private func inTurn<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        try await turn.exclusively {
            let result: Swift.Result<Result, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            // Loaders are told that their files are stored, so that they do not fetch them again.
            for id in takeRecorded() { await loaders.loader(of: id)?.reloadUnknown() }
            return try result.get()
        }
    }

    private func takeRecorded() -> [ResourceID] {
        work.withLock { work in
            defer { work.recorded = [] }
            return work.recorded
        }
    }

    // MARK: The pack

    /// Returns the pack, which is added to the vault before its first file.
    private func begun() async throws -> Pack {
        if let pack = knownPack { return pack }
        let (store, title, resourceClass) = (store, title, resourceClass)
        let stored = try await pool.run {
            try store.resources.addPack(
                of: title.key.bytes, url: title.reference.url.absoluteString, resourceClass: resourceClass)
        }
        let (loader, lease) = try loaders.use(stored)
        try await loader.ready()
        guard let representation = loader.record.representation else { throw ResourceRecord.removed }
        let pack = Pack(record: loader.record, representation: representation, lease: lease)
        keep(pack)
        return pack
    }

    private var knownPack: Pack? { work.withLock { $0.pack } }

    private func keep(_ pack: Pack) { work.withLock { $0.pack = pack } }

    // MARK: Writing, which blocks

    private func write(_ file: BufferedFile, of record: ResourceRecord, to pack: Pack) throws {
        if let principal = record.key.principal { try loaders.environment.names.note(principal) }
        try attempt { work in
            let part = try part(file, of: record, at: work.end)
            var rest = file.bytes[...]
            while !rest.isEmpty {
                if work.writer?.capacity ?? 0 == 0 {
                    try close(&work, pack)
                    work.writer = try pack.record.beginSegment(at: work.end, of: pack.representation, WriteEstimate())
                    work.writer?.leaveWritebackToSyncs()
                }
                let some = rest.prefix(Int(min(work.writer?.capacity ?? 0, Int64(rest.count))))
                try work.writer?.append(some, in: store, WriteEstimate())
                work.end += Int64(some.count)
                rest = rest.dropFirst(some.count)
            }
            work.waiting.append(part)
            work.pace.note(now: .now)
            if work.pace.step(now: .now) == .checkpoint { try checkpoint(&work, pack) }
        }
    }

    private func part(_ file: BufferedFile, of record: ResourceRecord, at offset: Int64) throws -> PackedPart {
        var metadata = ResourceMetadata(
            url: file.source.url.absoluteString, cacheKey: record.key.bytes, created: store.index.now())
        metadata.fields = file.source.fields
        metadata.isDerived = file.source.reach == .publicOnly
        metadata.serving = try SecureRandom.identifier("representation id")
        let info = RepresentationInfo(
            sequence: 1, information: file.information, retrieved: store.index.now(), freshness: file.freshness)
        guard let part = PackedPart(record.id, metadata, info, at: offset), part.range.length == file.bytes.count else {
            throw VaultError(.storage, "a part of a title is too large to be stored with others; fetch it again")
        }
        return part
    }

    private func commitWhatIsDue() throws {
        try attempt { work in
            guard let pack = work.pack else { return }
            switch work.pace.step(now: .now) {
            case .wait: break
            case .checkpoint: try checkpoint(&work, pack)
            case .close: try close(&work, pack)
            }
        }
    }

    private func closeForGood() throws -> Set<ResourceID> {
        try attempt { work in
            if let pack = work.pack { try close(&work, pack) }
            return work.unrecorded
        }
    }

    /// Runs one step of writing. After a failed step, nothing more is written.
    private func attempt<Result>(_ body: (inout Work) throws -> Result) throws -> Result {
        try work.withLock { work in
            if let failure = work.failure { throw failure }
            do {
                return try body(&work)
            } catch {
                // Close the segment to keep its whole blocks, if they can still be made durable.
                if let pack = work.pack { try? close(&work, pack) }
                work.failure = error
                throw error
            }
        }
    }

    private func checkpoint(_ work: inout Work, _ pack: Pack) throws {
        guard var writer = work.writer.take() else { return }
        try commit(&work) { try store.segments.checkpoint(&writer, recording: &$0, in: pack.record.id) }
        work.writer = consume writer
    }

    private func close(_ work: inout Work, _ pack: Pack) throws {
        guard let writer = work.writer.take() else { return }
        var closing: SegmentWriter? = consume writer
        try commit(&work) { waiting in
            guard let writer = closing.take() else { return [] }
            return try store.segments.close(writer, recording: &waiting, in: pack.record.id)
        }
    }

    private func commit(_ work: inout Work, _ body: (inout [PackedPart]) throws -> [ResourceID]) throws {
        let written = work.waiting.map(\.id)
        let unrecorded = try body(&work.waiting)
        work.unrecorded.formUnion(unrecorded)
        work.recorded += written.dropLast(work.waiting.count)
        work.pace.committed(isWaiting: !work.waiting.isEmpty, now: .now)
        store.noteChange()
    }
}

extension BufferedFile {
    /// Reads a file that is held whole from the vault. Blocks.
    init(held loader: ResourceLoader) throws {
        let store = loader.store
        var source = try ExportSource(store, loader.record.id, loader.url)
        var bytes: [UInt8] = []
        while bytes.count < source.length { bytes += try source.bytes(at: Int64(bytes.count), of: store) }
        self.init(
            bytes: bytes, information: source.information,
            freshness: loader.status.freshness ?? Freshness(HeaderFields(), asked: store.index.now()),
            source: loader.origin.urls.current)
    }
}
