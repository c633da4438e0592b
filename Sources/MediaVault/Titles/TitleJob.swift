import VaultManifest
import VaultModel
import VaultStorage

/// A running download of a title: its manifest, the media playlists of the chosen renditions, then everything that
/// these name, several resources at a time.
///
/// A resource that is no manifest is downloaded by itself. What is held whole is not requested again.
final class TitleJob: Sendable {
    private let loaders: LoaderTable
    private let reference: MediaReference
    private let options: DownloadOptions
    private let rate: SharedRateLimit
    private let tell: @Sendable (DownloadProgress) -> Void
    private let work = Locked(Work())

    private struct Work {
        /// The parts that no lane has taken yet.
        var waiting: ArraySlice<(number: Int, url: MediaURL)> = []
        var tally = TitleTally(count: 0)
        var failures = TitleFailures()
        /// The parts that were written into a pack.
        var packed: [ResourceID: MediaReference] = [:]
        var lastReport: ContinuousClock.Instant?
    }

    /// How often progress is reported.
    private static let interval: Duration = .milliseconds(100)

    init(
        _ loaders: LoaderTable, _ reference: MediaReference, _ options: DownloadOptions,
        tell: @escaping @Sendable (DownloadProgress) -> Void
    ) {
        self.loaders = loaders
        self.reference = reference
        self.options = options
        self.tell = tell
        rate = SharedRateLimit(bytesPerSecond: options.bytesPerSecond)
    }

    /// Fetches what is missing; returns when all of it is durable.
    func run() async throws {
        let resource = try await loaders.name(reference)
        let (loader, lease) = try loaders.use(resource)
        defer { withExtendedLifetime(lease) {} }
        try? await loader.ready()
        let isNew = loader.record.metadata == nil
        let isWhole = options.selection != nil
        let manifest = DownloadJob(loader, options, rate: rate) { [tell] progress in
            // Of a title, the bytes of all its resources are reported.
            if !isWhole || progress.manifest == nil { tell(progress) }
        }
        try await manifest.run()
        guard let selection = options.selection else { return }
        let store = loader.store
        guard let held = try await loader.pool.run({ try HeldManifest(resource, in: store) }) else {
            return try await name(resource, loader)
        }
        do {
            try await fetch(held, selection, Manifested(resource: resource, loader: loader))
        } catch let error as LiveTitle {
            // A live manifest is worth nothing in a moment.
            if isNew { _ = try? await loaders.remove(resource) { store, id in try store.remove(id) } }
            throw error.vaultError
        }
    }

    /// Records the name of media: the given one, else the one that it has, else the one in the media.
    private func name(_ resource: NamedResource, _ loader: ResourceLoader) async throws {
        let (record, store, given) = (loader.record, loader.store, options.name)
        guard let metadata = record.metadata, given != nil || metadata.name == nil else { return }
        try await loader.pool.run {
            // A name that cannot be read is no reason to fail: the media is held.
            guard let name = given ?? (try? MediaName.held(resource, in: store)), name != metadata.name else {
                return
            }
            try record.changeTitles { $0.name = name }
        }
    }

    /// A manifest's resource and its loader.
    private struct Manifested: Sendable {
        let resource: NamedResource
        let loader: ResourceLoader

        var url: MediaURL { resource.reference.url }
        var resourceClass: ResourceClass { loader.look { $0.isPinned } ? .pinned : .download }
    }

    /// The title, or one of its playlists, is still growing.
    private struct LiveTitle: Error {
        let url: MediaURL

        var vaultError: VaultError {
            VaultError(
                .invalidArgument, "\(url) is live, so there is no end to fetch; play it, or fetch it when it has ended")
        }
    }

    // MARK: Manifests

    private func fetch(_ held: HeldManifest, _ selection: RenditionSelection, _ title: Manifested) async throws {
        guard !held.manifest.isLive else { throw LiveTitle(url: title.url) }
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
            manifest: chosen, selection: selection, duration: duration, resources: 1 + lists.count + plan.parts.count,
            fetched: title.loader.store.now())
        let before = lists.reduce(Int64(held.byteCount)) { $0 + Int64($1.byteCount) }
        begin(plan.parts, expected: expected.map { max(0, $0 - before) })
        record.bytes = before
        try await write(record, named: held.manifest.title, to: title)
        do {
            try await fetchParts(reach, of: title) { [self] in report(title, 1 + lists.count, before) }
            record.isComplete = work.withLock { $0.failures.count == 0 }
            record.bytes = before + work.withLock(\.tally.bytes)
            try await write(record, to: title)
        } catch {
            record.bytes = before + work.withLock(\.tally.bytes)
            try? await write(record, to: title)
            throw error
        }
        report(title, 1 + lists.count, before, isLast: true)
        if let error = work.withLock({ $0.failures.error(of: title.url, parts: plan.parts.count) }) { throw error }
    }

    /// Fetches media playlists, and reads them.
    private func media(
        _ urls: [MediaURL], _ reach: TitleReach, of title: Manifested, variables: [String: String]
    ) async throws -> [HeldManifest] {
        var lists: [HeldManifest] = []
        var (count, weight) = (0, 0)
        for url in urls {
            let resource = try await loaders.name(reach.reference(to: url))
            let (loader, lease) = try loaders.use(resource)
            defer { withExtendedLifetime(lease) {} }
            try await loader.admit(resource.reference)
            try await download(loader, for: title) { _ in }
            if options.requiresMedia, let page = loader.look({ $0.information }).flatMap(loader.page) {
                _ = try? await loaders.remove(resource) { store, id in try store.remove(id) }
                throw page
            }
            let store = loader.store
            let list = try await loader.pool.run {
                try HeldManifest(resource, in: store, as: .hls, variables: variables)
            }
            guard let list else { continue }
            guard !list.manifest.isLive else {
                _ = try? await loaders.remove(resource) { store, id in try store.remove(id) }
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

    /// - Parameter name: the name in the manifest.
    private func write(_ record: Title, named name: String? = nil, to title: Manifested) async throws {
        let (owner, given) = (title.loader.record, options.name)
        try await title.loader.pool.run {
            guard !owner.isRetired.withLock({ $0 }) else { throw ResourceRecord.removed }
            try owner.changeTitles { metadata in
                metadata.title = record.record
                metadata.name = given ?? metadata.name ?? name.flatMap(MediaName.cleaned)
            }
        }
    }

    // MARK: Parts

    private func begin(_ parts: [MediaURL], expected: Int64?) {
        work.withLock { work in
            work.waiting = parts.enumerated().map { (number: $0, url: $1) }[...]
            work.tally = TitleTally(count: parts.count, expected: expected)
        }
    }

    private func take() -> (number: Int, url: MediaURL)? { work.withLock { $0.waiting.popFirst() } }

    private func fetchParts(
        _ reach: TitleReach, of title: Manifested, report: @escaping @Sendable () -> Void
    ) async throws {
        let pack = PackWriter(loaders, of: title.resource, title.resourceClass)
        let clock = Task {
            while true {
                try await Task.sleep(for: PackPace.time)
                try await pack.commitIfDue()
            }
        }
        defer { clock.cancel() }
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<(options.connections ?? DownloadOptions.titleConnections) {
                    group.addTask {
                        while let part = self.take() {
                            let reference = reach.reference(to: part.url)
                            try await self.fetch(part.number, reference, of: title, pack, report: report)
                            report()
                        }
                    }
                }
                // The first error ends the other lanes, too.
                while try await group.next() != nil {}
            }
        } catch {
            _ = try? await pack.finish()
            throw error
        }
        // A player that came between has made these resources of their own.
        for id in try await pack.finish() {
            guard let part = work.withLock({ $0.packed[id] }) else { continue }
            let (loader, lease) = try await loaders.use(part)
            defer { withExtendedLifetime(lease) {} }
            try await download(loader, for: title) { _ in }
        }
    }

    /// Fetches one part, and records that it belongs to the title.
    private func fetch(
        _ number: Int, _ part: MediaReference, of title: Manifested, _ pack: PackWriter,
        report: @escaping @Sendable () -> Void
    ) async throws {
        try Task.checkCancellation()
        guard !title.loader.record.isRetired.withLock({ $0 }) else { throw ResourceRecord.removed }
        do {
            let (loader, lease) = try await loaders.use(part)
            defer { withExtendedLifetime(lease) {} }
            try await loader.ready()
            try await loader.admit(part)
            if options.requiresMedia, try await removesPage(loader, of: part) {
                return try await fetch(number, part, of: title, pack, report: report)
            }
            let small: SmallFile?
            let isWhole = loader.look { $0.information?.length != nil && $0.missing.isEmpty }
            if isWhole {
                small = try await keep(loader, for: title)
            } else {
                small = try await fetchIfSmall(number, loader, report: report)
            }
            if let small {
                work.withLock { $0.packed[loader.record.id] = part }
                try await pack.add(small, of: loader.record)
            } else if !isWhole {
                try await download(loader, for: title) { [self] progress in
                    work.withLock { $0.tally.note(number, held: progress.held, length: progress.total) }
                    report()
                }
            }
            let length = small.map { Int64($0.bytes.count) } ?? loader.look { $0.information?.length ?? 0 }
            work.withLock { $0.tally.finish(number, length: length) }
        } catch let error as VaultError {
            let goesOn = work.withLock { work in
                work.tally.give(up: number)
                return work.failures.note(error)
            }
            if !goesOn { throw error }
        }
    }

    /// Removes a page that was played in place of a part, such as that of a login, so that the part is fetched again.
    ///
    /// - Returns: whether there was one.
    /// - Throws: ``VaultError`` with code `notMedia` if there is one that was not only played.
    private func removesPage(_ loader: ResourceLoader, of part: MediaReference) async throws -> Bool {
        guard let page = try await heldPage(loader) else { return false }
        let (store, id) = (loader.store, loader.record.id)
        let isOnlyPlayed = try await loader.pool.run {
            try store.index.resource(id).map { $0.resourceClass == .cache && $0.place == nil } ?? true
        }
        guard isOnlyPlayed else { throw page }
        do {
            _ = try await loaders.remove(part) { store, id in try store.remove(id) }
        } catch let error as VaultError where error.code == .notHeld {
            // Nothing of it was stored; what the loader knows is forgotten with it.
            loaders.remove(id)
        }
        return true
    }

    /// Returns the error for a page that is held, or begun, in place of a part; nil if there is none.
    private func heldPage(_ loader: ResourceLoader) async throws -> VaultError? {
        guard let information = loader.look({ $0.information }) else { return nil }
        if let page = loader.page(information) { return page }
        let isHeld = loader.look { $0.information?.length != nil && $0.missing.isEmpty }
        guard isHeld, (1...ResourceLoader.maxPageBytes).contains(information.length ?? 0) else { return nil }
        return try await loader.pool.run {
            // What is not durable yet came a moment ago, and was looked at then.
            guard var source = try? ExportSource(loader.store, loader.record.id, loader.url) else { return nil }
            return loader.page(beginning: try source.bytes(at: 0, of: loader.store))
        }
    }

    /// Keeps a part that is held. Segments do not change; the manifest would name others.
    ///
    /// - Returns: the part if it lies in the packs of other titles alone: each title has a copy of its own, so that none
    ///   depends on another.
    private func keep(_ loader: ResourceLoader, for title: Manifested) async throws -> SmallFile? {
        let (record, owner, resourceClass) = (loader.record, title.resource, title.resourceClass)
        let (store, key) = (loader.store, owner.key.bytes)
        return try await loader.pool.run {
            guard record.place != nil, try !store.index.hasWholeCopy(of: record.id, for: key) else {
                try record.join(owner, as: resourceClass)
                return nil
            }
            return try SmallFile(held: loader)
        }
    }

    /// Fetches a part into memory if it is small.
    private func fetchIfSmall(
        _ number: Int, _ loader: ResourceLoader, report: @escaping @Sendable () -> Void
    ) async throws -> SmallFile? {
        var arrived: Int64 = 0
        return try await loader.fetchIfSmall(
            limit: PackedPart.maxBytes, refusingPages: options.requiresMedia
        ) { count in
            arrived += Int64(count)
            work.withLock { [arrived] in $0.tally.note(number, held: arrived, length: nil) }
            report()
            try await loader.playbackPriority.yieldToPlayers(at: loader.addresses.current.url.origin)
            let delay = rate.take(Int64(count))
            if delay > .zero { try await Task.sleep(for: delay) }
        }
    }

    /// Downloads one resource over one connection, and records that it belongs to the title.
    private func download(
        _ loader: ResourceLoader, for title: Manifested, tell: @escaping @Sendable (DownloadProgress) -> Void
    ) async throws {
        let (owner, resourceClass) = (title.resource, title.resourceClass)
        let mark: @Sendable (ResourceRecord) throws -> Void = { try $0.join(owner, as: resourceClass) }
        try await DownloadJob(loader, DownloadOptions(), rate: rate, mark: mark, tell: tell).run()
    }

    // MARK: Progress

    /// - Parameters:
    ///   - manifests: the number of manifests, all of which are held.
    ///   - bytes: their bytes.
    private func report(_ title: Manifested, _ manifests: Int, _ bytes: Int64, isLast: Bool = false) {
        let tally = work.withLock { work -> TitleTally? in
            guard isLast || work.lastReport.map({ .now - $0 >= Self.interval }) ?? true else { return nil }
            work.lastReport = .now
            return work.tally
        }
        guard let tally else { return }
        let type = title.loader.look { $0.information?.type }
        tell(
            DownloadProgress(
                held: bytes + tally.held, total: tally.total.map { bytes + $0 }, type: type,
                manifest: ManifestDetection.kind(type: type, path: title.url.path),
                resources: ResourceCount(held: manifests + tally.done, total: manifests + tally.count)))
    }
}
