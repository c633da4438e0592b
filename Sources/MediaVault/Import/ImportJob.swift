import VaultCache
import VaultModel
import VaultStorage

/// A running import, which makes a file's bytes the vault's only version of a resource.
///
/// The bytes are sealed like fetched ones, into a representation that nothing reads yet. Once all of them are stored,
/// samples are compared with the origin's bytes, and then the representation is either served or deleted.
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
    private var imports: RunningImports { loaders.environment.imports }

    /// Stores the file.
    ///
    /// - Throws: ``VaultError``; in that case, nothing remains stored.
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
        guard loader.mode != .noStore else {
            throw VaultError(
                .storage, "\(loader.url) cannot be stored in mode no-store; change its mode or the vault's")
        }
        var information = ContentInformation(
            length: source.length, type: options.type ?? MediaType.guess(path: loader.url.path) ?? source.type,
            validators: Validators(), supportsRanges: true)
        information.isImported = true
        // As much as possible is checked before the file is read, because it may be large and a client of the service
        // has to send it.
        try options.requireSingleFile(loader.url, type: information.type)
        try await pool.run { [store] in try store.imports.requireNothingHeld(of: resource.id) }
        let head = try await source.next() ?? []
        try options.requireSingleFile(loader.url, type: information.type, beginning: head)
        let writer = ImportWriter(length: source.length, in: store)
        try imports.begin(resource.id, writer, at: loader.url)
        defer { imports.forget(resource.id, writer) }
        var hasBegun = false
        do {
            try await begin(writer, information, resource, loader)
            hasBegun = true
            let stored = try await fill(writer, from: source, beginningWith: head)
            let (origin, validated) = try await compare(stored, loader)
            if let validated { information = settled(validated.information) }
            let id = try await finish(writer, stored, information, validated?.freshness)
            return ImportReport(
                id: id, url: "\(loader.url)", bytes: source.length, type: information.type, origin: origin)
        } catch {
            // If the import was ended from elsewhere, that is the reason for any later failure.
            let reason = writer.failure
            try? await pool.run { _ = writer.discard() }
            imports.forget(resource.id, writer)
            // Detaching the loader lets the next reader store its bytes at once, instead of only after the loader has
            // asked the store again.
            if hasBegun { try? await pool.run { [loaders] in loaders.detach(resource.id) } }
            throw reason ?? error
        }
    }

    // MARK: Storing

    private func begin(
        _ writer: ImportWriter, _ information: ContentInformation, _ resource: NamedResource, _ loader: ResourceLoader
    ) async throws {
        let (store, names, source, options) = (store, loader.names, loader.origin.urls.current, options)
        // From here on, a locator change ends this import.
        guard names.isCurrent(resource) else { throw ResourceNames.renaming }
        guard !loader.isStoring else {
            throw VaultError(.inUse, "\(loader.url) is being fetched; wait until it is held, or cancel the download")
        }
        try await pool.run {
            if let principal = resource.key.principal { try names.note(principal) }
            var metadata = ResourceMetadata(
                url: source.url.absoluteString, cacheKey: resource.key.bytes, created: store.index.now())
            metadata.fields = source.fields
            metadata.isDerived = source.reach == .publicOnly
            try writer.begin { [metadata] in
                try store.imports.begin(resource.id, metadata, as: options.isPinned ? .pinned : .download, information)
            }
        }
    }

    private func fill(
        _ writer: ImportWriter, from source: any ImportSource, beginningWith head: [UInt8]
    ) async throws -> StoredResource {
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
        let stored = try await pool.run { try writer.close() }
        guard stored.serving?.held == ByteRanges(0..<source.length) else { throw Self.otherLength }
        return stored
    }

    private static let otherLength = VaultError(
        .storage, "the file does not have as many bytes as at first; import it again once it is complete")

    /// Makes the resource serve these bytes, and sets its name and class, in one atomic step.
    ///
    /// - Returns: the id of the title.
    private func finish(
        _ writer: ImportWriter, _ stored: StoredResource, _ information: ContentInformation, _ freshness: Freshness?
    ) async throws -> TitleID {
        let (options, store, loaders) = (options, store, loaders)
        return try await pool.run {
            let given = options.name.flatMap(MediaName.cleaned)
            // An unreadable description is no reason for the import to fail.
            let stated = try? MediaBytes(stored, in: store).map { try MediaDescription($0) }
            let title = try writer.finish(information, freshness) { metadata in
                metadata.name = given ?? metadata.name ?? stated?.name
                metadata.duration = stated?.duration
                metadata.tags = stated?.titleTags
                metadata.pictured = stated?.hasPicture == true ? stored.serving?.id : nil
            }
            // Readers that are already open keep getting the origin's bytes to the end.
            loaders.detach(title.id)
            return title.titleID ?? TitleID(of: title.id)
        }
    }

    // MARK: The origin

    /// Compares the stored bytes with the origin's.
    private func compare(
        _ stored: StoredResource, _ loader: ResourceLoader
    ) async throws -> (ImportReport.Origin, OriginComparison.Version?) {
        guard options.asksOrigin, !loader.isOffline, let length = stored.serving?.info.information.length else {
            return (.unasked, nil)
        }
        let comparison = OriginComparison(loader, length: length) { [store] in try store.segments.bytes($0, of: stored)
        }
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

    /// Returns the origin's information about the resource, with the caller's media type if the caller gave one.
    private func settled(_ information: ContentInformation) -> ContentInformation {
        var settled = information
        settled.supportsRanges = true
        if let type = options.type { settled.type = type }
        return settled
    }
}
