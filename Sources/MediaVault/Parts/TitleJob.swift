import VaultCache
import VaultManifest
import VaultModel
import VaultStorage

/// Downloads a title: its manifest, the media playlists of the chosen renditions, then every resource that these name,
/// several at a time.
///
/// A resource that is not a manifest is downloaded alone. A resource that is held whole is not requested again.
final class TitleJob: Sendable {
    private let loaders: LoaderTable
    private let pictures: FeedPictures
    private let reference: MediaReference
    private let options: DownloadOptions
    private let rate: SharedRateLimit
    private let tell: @Sendable (DownloadProgress) -> Void
    private let lastReport = Locked<ContinuousClock.Instant?>(nil)

    /// The minimum time between two progress reports.
    private static let interval: Duration = .milliseconds(100)

    /// - Parameter rate: a limit shared with other downloads, which applies in addition to the download's own.
    init(
        _ loaders: LoaderTable, _ pictures: FeedPictures, _ reference: MediaReference, _ options: DownloadOptions,
        within rate: SharedRateLimit? = nil, tell: @escaping @Sendable (DownloadProgress) -> Void
    ) {
        self.loaders = loaders
        self.pictures = pictures
        self.reference = reference
        self.options = options
        self.tell = tell
        self.rate = SharedRateLimit(bytesPerSecond: options.bytesPerSecond, within: rate)
    }

    /// Fetches everything that is missing, and returns when all of it is durable.
    func run() async throws {
        let resource = try await loaders.name(reference)
        try await removeRefused(resource)
        do {
            try await run(resource)
        } catch let error as VaultError where error.code == .notMedia {
            // The caller must get this error, so a failure to remove the page is ignored. The next download removes it
            // first.
            try? await removeRefused(resource)
            throw error
        }
    }

    /// Removes a response that is held in place of media, such as a network's login page, so that the next request goes
    /// to the origin.
    ///
    /// The resource is kept if a reader uses it, if it was fetched although it is not media, or while the mode forbids
    /// requests.
    private func removeRefused(_ resource: NamedResource) async throws {
        guard options.requiresMedia else { return }
        let (loader, lease) = try loaders.use(resource)
        defer { withExtendedLifetime(lease) {} }
        try? await loader.ready()
        guard !loader.isOffline, !loader.status.hasReaders,
            loader.information.flatMap(loader.pages.refusal) != nil
        else { return }
        _ = try await loaders.removeIfOnlyPlayed(resource, loader)
    }

    private func run(_ resource: NamedResource) async throws {
        let (loader, lease) = try loaders.use(resource)
        defer { withExtendedLifetime(lease) {} }
        try? await loader.ready()
        let isNew = loader.record.metadata == nil
        let representation = loader.record.representation
        let isWhole = options.selection != nil
        let report: @Sendable (DownloadProgress) -> Void = { [tell] progress in
            // For a title, progress covers the bytes of all its resources, so the manifest's own progress is not
            // reported.
            if !isWhole || progress.manifest == nil { tell(progress) }
        }
        guard let selection = options.selection else { return try await download(loader, lease, tell: report) }
        do {
            let held = try await read(resource, loader) { try await download(loader, lease, tell: report) }
            guard let held else {
                if isNew, let refusal = try await heldRefusal(loader) {
                    try? await remove(resource)
                    throw refusal
                }
                try await describe(resource, loader, hasChanged: loader.record.representation != representation)
                return try await takeCover(loader)
            }
            try await fetch(held, selection, TitleOwner(resource: resource, loader: loader))
        } catch let error as LiveTitle {
            // A live manifest is useless a moment later, so it is not kept.
            if isNew { try? await remove(resource) }
            throw error.vaultError
        } catch let error as UnusableManifest {
            // A manifest that was refused does not make a title.
            if isNew { try? await remove(resource) }
            throw error.vaultError
        }
        try await takeCover(loader)
    }

    /// Fetches a resource. If its type does not mark it as media, its first bytes decide whether it is accepted.
    private func download(
        _ loader: ResourceLoader, _ lease: LoaderLease, tell: @escaping @Sendable (DownloadProgress) -> Void
    ) async throws {
        do {
            try await DownloadJob(loader, options, rate: rate, tell: tell).run()
        } catch let error as VaultError where error.code == .notMedia {
            let start = try await beginning(loader, lease)
            guard MediaSignature.begins(start) || ManifestContent.kind(of: start) != nil else {
                throw loader.pages.refusal(beginning: start) ?? error
            }
            var options = options
            options.requiresMedia = false
            try await DownloadJob(loader, options, rate: rate, tell: tell).run()
        }
    }

    /// Returns the resource's first bytes, which show whether they are audio, video or a manifest.
    private func beginning(_ loader: ResourceLoader, _ lease: LoaderLease) async throws -> [UInt8] {
        let opening = try await LoaderOpening(of: loader, .closed(first: 0, last: Int64(MediaSignature.byteCount - 1)))
            .run()
        let reader = MediaReader(opening, of: reference, loader: loader, lease: lease)
        defer { reader.cancel() }
        return try await reader.start() ?? []
    }

    /// Returns the error for a page or a feed that is held whole and that its origin labelled as anything else; nil if
    /// there is none, or if the caller wants content of any type.
    private func heldRefusal(_ loader: ResourceLoader) async throws -> VaultError? {
        guard options.requiresMedia, loader.status.isHeldWhole else { return nil }
        return try await loader.pool.run {
            guard var source = try? ExportSource(loader.store, loader.record.id, loader.url) else { return nil }
            return loader.pages.refusal(beginning: try source.bytes(at: 0, of: loader.store))
        }
    }

    /// Stores the picture named by the title's feed as the title's cover, if the title has no other.
    private func takeCover(_ loader: ResourceLoader) async throws {
        guard let picture = options.picture else { return }
        try await FeedCover(environment: loaders.environment, pictures: pictures, picture: picture).give(to: loader)
    }

    /// Records the name of media, their tags and duration, and whether they contain a picture. The name is the one in the
    /// options, or else the recorded one, or else the one in the media.
    ///
    /// - Parameter hasChanged: whether the bytes differ from those held before.
    private func describe(_ resource: NamedResource, _ loader: ResourceLoader, hasChanged: Bool) async throws {
        let (record, store, given, published) = (loader.record, loader.store, options.name, options.published)
        guard let metadata = record.metadata,
            hasChanged || published != nil || given != nil || metadata.name == nil || metadata.duration == nil
                || metadata.tags == nil
        else { return }
        try await loader.pool.run {
            // The media are held, so a failure to read their description is no error.
            let stated = try? MediaDescription.held(resource, in: store)
            let name = given ?? metadata.name ?? stated?.name
            let duration = stated.map { $0.duration } ?? metadata.duration
            let pictured = stated?.hasPicture == true ? metadata.serving : nil
            let tags = stated.map { $0.titleTags } ?? metadata.tags
            guard
                name != metadata.name || duration != metadata.duration || pictured != metadata.pictured
                    || tags != metadata.tags || published != nil && published != metadata.published
            else { return }
            try record.changeTitles { metadata in
                (metadata.name, metadata.tags) = (name, tags)
                metadata.duration = duration
                metadata.pictured = pictured
                metadata.published = published ?? metadata.published
            }
        }
    }

    /// The error for a title that is still growing, or that has such a playlist.
    private struct LiveTitle: Error {
        let url: MediaURL

        var vaultError: VaultError {
            VaultError(
                .invalidArgument, "\(url) is live, so there is no end to fetch; play it, or fetch it when it has ended")
        }
    }

    /// The error for a manifest that cannot be used, or that has references that players are refused, so that there is
    /// no title yet.
    private struct UnusableManifest: Error {
        let vaultError: VaultError
    }

    // MARK: Manifests

    /// Fetches a resource, and reads it as a manifest; nil if it is not one.
    ///
    /// A manifest that cannot be used is forgotten, so that the next fetch requests it from its origin again. If it was
    /// already held before, this method fetches it again at once.
    ///
    /// - Parameters:
    ///   - kind: the kind to assume if neither the type nor the content shows one.
    ///   - variables: the variables defined by the manifest that names this resource.
    private func read(
        _ resource: NamedResource, _ loader: ResourceLoader, as kind: ManifestKind? = nil,
        variables: [String: String] = [:], fetch: () async throws -> Void
    ) async throws -> HeldManifest? {
        let former = loader.record.representation
        var isHeldBefore = former != nil && loader.status.isHeldWhole
        while true {
            try await fetch()
            let store = loader.store
            do {
                return try await loader.pool.run {
                    try HeldManifest(resource, in: store, as: kind, variables: variables)
                }
            } catch let error as VaultError where error.code == .invalidResponse {
                let isOld = isHeldBefore && loader.record.representation == former
                guard loader.forgetUnusable(), isOld else { throw UnusableManifest(vaultError: error) }
                isHeldBefore = false
            }
        }
    }

    private func remove(_ resource: NamedResource) async throws {
        _ = try await loaders.remove(resource) { store, id in try store.resources.remove(id) }
    }

    private func fetch(_ held: HeldManifest, _ selection: RenditionSelection, _ title: TitleOwner) async throws {
        guard !held.manifest.isLive else { throw LiveTitle(url: title.url) }
        let store = title.loader.store
        let languages = try await title.loader.pool.run { try store.index.settings().downloads.languages }
        let selection = selection.preferring(languages)
        let chosen = held.manifest.selecting(selection)
        let reach = TitleReach(held, of: title.resource, title.loader)
        var plan = TitlePlan(chosen)
        guard plan.playlists.count <= TitlePlan.maxPlaylists else {
            throw VaultError(
                .invalidResponse,
                "\(title.url) names more than \(TitlePlan.maxPlaylists) playlists; choose fewer renditions")
        }
        let lists = try await media(plan.playlists, reach, of: title, variables: held.manifest.exports)
        plan.add(lists.map(\.manifest))
        let duration = held.manifest.duration ?? lists.compactMap(\.manifest.duration).max()
        let expected = TitleTally.size(atRates: chosen.renditions.compactMap(\.bandwidth), for: duration)
        var record = Title(
            manifest: chosen, of: held.manifest, selection: selection, duration: duration,
            resources: 1 + lists.count + plan.parts.count,
            fetched: store.index.now())
        let before = lists.reduce(Int64(held.byteCount)) { $0 + Int64($1.byteCount) }
        let parts = PartFetcher(
            plan, of: title, reach, loaders, options, rate, expected: expected.map { max(0, $0 - before) })
        record.bytes = before
        let refused = try await BlockingPool.manifests.run {
            Self.refusals(of: [(chosen, held.base)] + lists.map { ($0.manifest, $0.base) })
        }
        if let former = title.loader.record.title, former.selection == selection { record.size = former.size }
        try await write(record, named: held.manifest.title, to: title)
        do {
            try await parts.run { [self] in report(title, parts, 1 + lists.count, before) }
            record.resources = 1 + lists.count + parts.tally.count
            record.isComplete = parts.failures.count == 0 && refused.isEmpty
            record.noteMissing(refused + parts.failures.errors)
            record.bytes = before + parts.tally.bytes
            if record.isComplete { record.size = record.bytes }
            try await write(record, to: title)
        } catch {
            record.noteMissing(refused + parts.failures.errors)
            record.bytes = before + parts.tally.bytes
            try? await write(record, to: title)
            throw error
        }
        report(title, parts, 1 + lists.count, before, isLast: true)
        if let error = refused.first { throw error }
        if let error = parts.failures.error(of: title.url, parts: plan.parts.count) { throw error }
    }

    /// Returns errors for the first references in these manifests that players are refused. Without the resources that
    /// these references name, the title cannot play.
    private static func refusals(of manifests: [(manifest: Manifest, url: MediaURL)]) -> [VaultError] {
        var found: [VaultError] = []
        for (manifest, url) in manifests where found.count < ManifestRefusal.most {
            found += manifest.refusals.map { refusal in
                VaultError(
                    .invalidResponse,
                    "line \(refusal.line) of \(url) names \(refusal.role.noun) that players are refused: it is no URL "
                        + "of http or https, or has a variable that is not defined")
            }
        }
        return found
    }

    /// Fetches and reads media playlists.
    private func media(
        _ urls: [MediaURL], _ reach: TitleReach, of title: TitleOwner, variables: [String: String]
    ) async throws -> [HeldManifest] {
        var lists: [HeldManifest] = []
        var (count, weight) = (0, 0)
        for url in urls {
            let resource = try await loaders.name(reach.reference(to: url))
            let (loader, lease) = try loaders.use(resource)
            defer { withExtendedLifetime(lease) {} }
            try await DerivedAccess(to: loader, for: resource.reference).admit()
            try? await loader.ready()
            let isNew = loader.record.metadata == nil
            let list = try await read(resource, loader, as: .hls, variables: variables) {
                try await title.download(loader, rate: rate) { _ in }
                guard options.requiresMedia, let page = loader.information.flatMap(loader.pages.page) else {
                    return
                }
                try? await remove(resource)
                throw page
            }
            guard let list else { continue }
            guard !list.manifest.isLive else {
                if isNew { try? await remove(resource) } else { _ = loader.forgetUnusable() }
                throw LiveTitle(url: title.url)
            }
            let references = list.manifest.references
            guard !references.contains(where: { $0.role == .playlist }) else {
                throw VaultError(.invalidResponse, "\(url) names further playlists, which no title may")
            }
            count += references.count
            weight += list.manifest.weight
            guard count <= ManifestLimits.standard.maxReferences, weight <= TitlePlan.maxWeight else {
                throw VaultError(
                    .invalidResponse,
                    "\(title.url) names more than \(ManifestLimits.standard.maxReferences) resources; choose less of it"
                )
            }
            lists.append(list)
        }
        return lists
    }

    /// - Parameter name: the name that the manifest states; nil if it states none.
    private func write(_ record: Title, named name: String? = nil, to title: TitleOwner) async throws {
        let (owner, given, published) = (title.loader.record, options.name, options.published)
        try await title.loader.pool.run {
            guard !owner.isRetired.withLock({ $0 }) else { throw ResourceRecord.removed }
            try owner.changeTitles { metadata in
                metadata.title = record.record
                metadata.name = given ?? metadata.name ?? name.flatMap(MediaName.cleaned)
                metadata.published = published ?? metadata.published
            }
        }
    }

    // MARK: Progress

    /// - Parameters:
    ///   - manifests: the number of manifests, all of which are held.
    ///   - bytes: the number of bytes in these manifests.
    private func report(
        _ title: TitleOwner, _ parts: PartFetcher, _ manifests: Int, _ bytes: Int64, isLast: Bool = false
    ) {
        let isDue = lastReport.withLock { last in
            guard isLast || last.map({ .now - $0 >= Self.interval }) ?? true else { return false }
            last = .now
            return true
        }
        guard isDue else { return }
        let (tally, type) = (parts.tally, title.loader.information?.type)
        tell(
            DownloadProgress(
                held: bytes + tally.held, total: tally.total.map { bytes + $0 }, type: type,
                manifest: ManifestDetection.kind(type: type, path: title.url.path),
                resources: ResourceCount(held: manifests + tally.done, total: manifests + tally.count)))
    }
}

extension MediaDescription {
    /// Returns the description of media that are held whole. Blocks.
    fileprivate static func held(_ resource: NamedResource, in store: VaultStore) throws -> MediaDescription {
        var source = try ExportSource(store, resource.id, resource.reference.url)
        let length = source.length
        return try MediaDescription(
            MediaBytes(length: length) { position, count in
                var bytes: [UInt8] = []
                while bytes.count < count, position + Int64(bytes.count) < length {
                    bytes += try source.bytes(at: position + Int64(bytes.count), upTo: count - bytes.count, of: store)
                }
                return Array(bytes.prefix(count))
            })
    }
}

extension ManifestReference.Role {
    fileprivate var noun: String {
        switch self {
        case .playlist: "a playlist"
        case .segment: "media"
        case .initialization: "an initialization section"
        case .key: "a key"
        case .data: "a file"
        }
    }
}
