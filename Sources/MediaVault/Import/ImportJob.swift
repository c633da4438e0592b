import VaultModel
import VaultStorage

/// A running import: the bytes of a file become the only version of a resource that the vault has.
///
/// They are sealed like fetched ones, into a representation that nothing reads. When all are stored, samples of them are
/// compared with what the origin has; then the representation is the one that is read, or it is deleted.
final class ImportJob: Sendable {
    private let loaders: LoaderTable
    private let reference: MediaReference
    private let options: ImportOptions
    private let tell: @Sendable (ImportProgress) -> Void

    /// How often progress is reported.
    private static let interval: Duration = .milliseconds(100)

    init(
        _ loaders: LoaderTable, _ reference: MediaReference, _ options: ImportOptions,
        tell: @escaping @Sendable (ImportProgress) -> Void
    ) {
        self.loaders = loaders
        self.reference = reference
        self.options = options
        self.tell = tell
    }

    private var store: VaultStore { loaders.environment.store }
    private var pool: BlockingPool { loaders.environment.pool }

    /// Stores a file.
    ///
    /// - Throws: ``VaultError``; then nothing is stored.
    func run(_ source: any ImportSource) async throws -> ImportReport {
        try store.requireOwner(to: "imports files")
        try options.check()
        guard (1...ContentInformation.maxBytes).contains(source.length) else {
            throw VaultError(.invalidArgument, "a file of \(source.length) bytes cannot be a title; give a media file")
        }
        let resource = try await loaders.name(reference)
        let (loader, lease) = try loaders.use(resource)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        guard loader.look({ $0.mode }) != .noStore else {
            throw VaultError(
                .storage, "\(loader.url) cannot be stored in mode no-store; change its mode or the vault's")
        }
        var information = ContentInformation(
            length: source.length, type: options.type ?? MediaType.guess(path: loader.url.path) ?? source.type,
            validators: Validators(), supportsRanges: true)
        information.isImported = true
        // Before the file is read, as far as possible: it may be large, and a client of a service has to send it.
        try options.requireSingleFile(loader.url, type: information.type)
        try await pool.run { [store] in try store.requireNothingHeld(of: resource.id) }
        let head = try await source.next() ?? []
        try options.requireSingleFile(loader.url, type: information.type, beginning: head)
        let writer = try await begin(information, resource, loader)
        do {
            try await fill(writer, from: source, beginningWith: head)
            let (origin, validated) = try await compare(writer.stored, loader)
            if let validated { information = settled(validated.information) }
            try await finish(writer, information, validated?.freshness, resource)
            let id = try await pool.run { [store] in try store.index.titleID(of: resource.id) }
            return ImportReport(
                id: id, url: "\(loader.url)", bytes: source.length, type: information.type, origin: origin)
        } catch {
            try? await pool.run { writer.discard() }
            throw error
        }
    }

    // MARK: Storing

    private func begin(
        _ information: ContentInformation, _ resource: NamedResource, _ loader: ResourceLoader
    ) async throws -> ImportWriter {
        let (store, names, source, options) = (store, loader.names, loader.addresses.current, options)
        return try await pool.run {
            if let principal = resource.key.principal { try names.note(principal) }
            let (stored, isNew) = try store.beginImport(resource.id, information) {
                try store.addResource(
                    resource.id, url: source.url.absoluteString, cacheKey: resource.key.bytes,
                    resourceClass: options.isPinned ? .pinned : .download, fields: source.fields,
                    isDerived: source.reach == .publicOnly)
            }
            return ImportWriter(stored, isNew: isNew, in: store)
        }
    }

    private func fill(
        _ writer: ImportWriter, from source: any ImportSource, beginningWith head: [UInt8]
    ) async throws {
        var last: ContinuousClock.Instant?
        var next: [UInt8]? = head
        while let bytes = next {
            try Task.checkCancellation()
            let end = try await pool.run { try writer.append(bytes) }
            guard end <= source.length else { throw Self.otherLength }
            if last.map({ .now - $0 >= Self.interval }) ?? true {
                last = .now
                tell(ImportProgress(stored: end, total: source.length))
            }
            next = try await source.next()
        }
        try await pool.run { try writer.close() }
        guard writer.stored.serving?.held == ByteRanges(0..<source.length) else {
            throw Self.otherLength
        }
    }

    private static let otherLength = VaultError(
        .storage, "the file does not have as many bytes as at first; import it again once it is complete")

    /// Lets no other version of the resource be read from now on.
    private func finish(
        _ writer: ImportWriter, _ information: ContentInformation, _ freshness: Freshness?, _ resource: NamedResource
    ) async throws {
        let (options, store) = (options, store)
        try await loaders.replace(resource) {
            try writer.finish(information, freshness, as: options.isPinned ? .pinned : .download) { metadata in
                metadata.name = options.name.flatMap(MediaName.cleaned) ?? metadata.name
            }
            guard options.name == nil, let name = try? MediaName.held(resource, in: store),
                var stored = try store.index.resource(resource.id), stored.metadata.name == nil
            else { return }
            // A name that cannot be written is no reason to fail: the media is held.
            try? store.changeTitles(of: &stored) { $0.name = name }
        }
    }

    // MARK: The origin

    /// Compares what was stored with what the origin has.
    private func compare(
        _ stored: StoredResource, _ loader: ResourceLoader
    ) async throws -> (ImportReport.Origin, OriginComparison.Version?) {
        guard options.asksOrigin, !loader.isOffline, let length = stored.serving?.info.information.length else {
            return (.unasked, nil)
        }
        let comparison = OriginComparison(loader, length: length) { [store] in try store.bytes($0, of: stored) }
        do {
            switch try await comparison.run() {
            case .same(let version): return (.same, version)
            case .different(let how):
                throw VaultError(
                    .inUse,
                    "the file is not what \(loader.url) has, \(how); give the right URL, or fetch the title")
            }
        } catch let failure as OriginFailure {
            guard case .refused(let status, _) = failure.kind else { return (.unreached, nil) }
            var error = FetchFailure.origin(failure).vaultError(for: loader.url, at: 0)
            error.message =
                "the origin refused \(loader.url) (HTTP \(status)), so the file cannot be compared; import it without "
                + "asking the origin"
            error.hint = .importUnasked
            throw error
        }
    }

    /// Returns what is known of the origin's version, with the type that the caller has stated.
    private func settled(_ information: ContentInformation) -> ContentInformation {
        var settled = information
        settled.supportsRanges = true
        if let type = options.type { settled.type = type }
        return settled
    }
}

/// Seals the bytes of an import into segments. Calls block.
final class ImportWriter: Sendable {
    private let store: VaultStore
    private let isNew: Bool
    private let length: Int64?
    private let work: Locked<Work>

    private struct Work: ~Copyable {
        var resource: StoredResource
        var writer: SegmentWriter?
        /// One past the last byte written.
        var end: Int64 = 0
    }

    /// - Parameter isNew: whether the resource was added for the import.
    init(_ resource: StoredResource, isNew: Bool, in store: VaultStore) {
        self.store = store
        self.isNew = isNew
        length = resource.serving?.info.information.length
        work = Locked(Work(resource: resource))
    }

    /// The resource with the segments that are durable.
    var stored: StoredResource { work.withLock { $0.resource } }

    /// Appends bytes; makes each segment durable when it is full.
    ///
    /// - Returns: the number of bytes so far.
    func append(_ bytes: [UInt8]) throws -> Int64 {
        try work.withLock { work in
            var rest = bytes[...]
            while !rest.isEmpty {
                let estimate = WriteEstimate(length: length, expected: max(0, (length ?? 0) - work.end))
                if work.writer?.capacity ?? 0 == 0 {
                    try close(&work)
                    work.writer = try store.beginSegment(at: work.end, of: work.resource, estimate)
                }
                let some = rest.prefix(Int(min(work.writer?.capacity ?? 0, Int64(rest.count))))
                try work.writer?.append(some, in: store, estimate)
                work.end += Int64(some.count)
                rest = rest.dropFirst(some.count)
            }
            return work.end
        }
    }

    /// Makes everything durable.
    func close() throws { try work.withLock { try close(&$0) } }

    private func close(_ work: inout Work) throws {
        guard let writer = work.writer.take() else { return }
        let end = writer.end
        guard let segment = try store.close(writer), segment.range.upperBound == end else {
            throw VaultError(
                .diskFull, "the last block of a segment could not be written; free disk space and try again")
        }
        work.resource.serving?.segments.append(segment)
    }

    /// Makes the bytes what is read of the resource.
    func finish(
        _ information: ContentInformation, _ freshness: Freshness?, as resourceClass: ResourceClass,
        _ change: (inout ResourceMetadata) -> Void
    ) throws {
        try store.finishImport(stored, information, freshness, as: resourceClass, change)
    }

    /// Deletes what was written.
    func discard() {
        work.withLock { work in
            if let writer = work.writer.take() { _ = try? store.close(writer) }
            // What cannot be deleted now is deleted by the next owner.
            try? store.dropImport(work.resource, isNew: isNew)
        }
    }
}
