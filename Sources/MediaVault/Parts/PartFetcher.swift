import VaultCache
import VaultManifest
import VaultModel
import VaultStorage

/// Fetches the parts of a title. Small parts go into a pack; the others become resources of their own.
final class PartFetcher: Sendable {
    private let title: TitleOwner
    private let reach: TitleReach
    private let loaders: LoaderTable
    private let options: DownloadOptions
    private let rate: SharedRateLimit
    private let plan: TitlePlan
    private let work: Locked<Work>

    private struct Work {
        /// The parts that no lane has taken yet.
        var waiting: ArraySlice<(number: Int, url: MediaURL)>
        var tally: TitleTally
        var failures = TitleFailures()
        /// The parts that the origin refused once, each left for another lane to fetch.
        var refused: Set<Int> = []
        /// The number of lanes that are still fetching.
        var lanes: Int
        /// The origins that do not respond. Places at other origins are tried first.
        var dead: Set<String> = []
        /// The parts that were written into a pack.
        var packed: [ResourceID: MediaReference] = [:]
    }

    /// - Parameter expected: the number of bytes of all parts, estimated from the bit rates; nil if unknown.
    init(
        _ plan: TitlePlan, of title: TitleOwner, _ reach: TitleReach, _ loaders: LoaderTable,
        _ options: DownloadOptions, _ rate: SharedRateLimit, expected: Int64?
    ) {
        self.title = title
        self.reach = reach
        self.loaders = loaders
        self.options = options
        self.rate = rate
        self.plan = plan
        work = Locked(
            Work(
                waiting: plan.parts.enumerated().map { (number: $0, url: $1) }[...],
                tally: TitleTally(count: plan.parts.count, expected: expected),
                lanes: options.connections ?? DownloadOptions.titleConnections))
    }

    /// The progress so far.
    var tally: TitleTally { work.withLock(\.tally) }

    /// The parts that could not be fetched.
    var failures: TitleFailures { work.withLock(\.failures) }

    /// Returns the next part for a lane to fetch; nil if none is left, in which case the lane ends.
    private func take() -> (number: Int, url: MediaURL)? {
        work.withLock { work in
            let part = work.waiting.popFirst()
            if part == nil { work.lanes -= 1 }
            return part
        }
    }

    /// Returns whether a lane ends and leaves a part that the origin refused to the other lanes, if there are any. This
    /// helps because some origins refuse a second connection.
    private func givesUp(_ part: (number: Int, url: MediaURL), _ error: VaultError) -> Bool {
        guard [403, 429, 503].contains(error.originStatus) else { return false }
        return work.withLock { work in
            guard work.lanes > 1, work.refused.insert(part.number).inserted else { return false }
            work.lanes -= 1
            work.waiting.append(part)
            return true
        }
    }

    /// Fetches all parts, several at a time, and returns when they are durable.
    ///
    /// - Parameter report: called whenever more bytes have arrived.
    /// - Throws: the error that ended the fetch. The errors of single parts are in ``failures``.
    func run(report: @escaping @Sendable () -> Void) async throws {
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
                for _ in 0..<work.withLock(\.lanes) {
                    group.addTask {
                        while let part = self.take() {
                            guard try await self.fetch(part, pack, report: report) else { return }
                            report()
                        }
                    }
                }
                // The first error that a lane throws ends the other lanes, too.
                while try await group.next() != nil {}
            }
        } catch {
            _ = try? await pack.finish()
            throw error
        }
        // A player requested these parts during the fetch, so they are resources of their own now.
        for id in try await pack.finish() {
            guard let part = work.withLock({ $0.packed[id] }) else { continue }
            let (loader, lease) = try await loaders.use(part)
            defer { withExtendedLifetime(lease) {} }
            try await title.download(loader, rate: rate) { _ in }
        }
    }

    /// Fetches one part, from the first of its places that has it.
    ///
    /// - Returns: false if the lane ends and leaves the part to another lane.
    private func fetch(
        _ part: (number: Int, url: MediaURL), _ pack: PackWriter, report: @escaping @Sendable () -> Void
    ) async throws -> Bool {
        let (number, url) = part
        var failed: [(place: MediaURL, error: VaultError)] = []
        for place in await places(of: url) {
            do {
                let length = try await fetch(number, reach.reference(to: place), pack, report: report)
                work.withLock { $0.tally.finish(number, length: length) }
                for other in failed { await leave(other.place) }
                return true
            } catch let error as VaultError {
                failed.append((place, error))
                guard plan.alternatives[url] != nil, TitleFailures.isOfPlace(error) else { break }
                if error.code == .unreachable { work.withLock { _ = $0.dead.insert(place.origin) } }
            }
        }
        let errors = failed.map(\.error)
        if plan.mayBeAbsent.contains(url), errors.allSatisfy({ [404, 410].contains($0.originStatus) }) {
            // Every origin reports that the part does not exist, so the title ends before it.
            work.withLock { $0.tally.leaveOut(number) }
            return true
        }
        // An error that an origin sent says more than the lack of a response, so it is reported first.
        let answered = errors.last { !TitleFailures.isOfPlace($0) } ?? errors.first { $0.code != .unreachable }
        guard let error = answered ?? errors.first else { return true }
        guard !givesUp(part, error) else { return false }
        let goesOn = work.withLock { work in
            work.tally.give(up: number)
            return work.failures.note(error)
        }
        if !goesOn { throw error }
        return true
    }

    /// Removes the resource at a failed place from the title once another place has delivered the part, because it does
    /// not belong to the title.
    private func leave(_ place: MediaURL) async {
        guard let resource = try? await loaders.name(reach.reference(to: place)),
            let (loader, lease) = try? loaders.use(resource)
        else { return }
        defer { withExtendedLifetime(lease) {} }
        let (record, owner) = (loader.record, title.resource)
        guard let metadata = record.metadata, metadata.partOf.contains(owner.key.bytes), !metadata.isOwn else { return }
        if metadata.partOf == [owner.key.bytes] {
            _ = try? await loaders.remove(resource) { store, id in try store.resources.remove(id) }
        } else {
            try? await loader.pool.run {
                try record.changeTitles(.leave(owner.id)) { $0.partOf.removeAll { $0 == owner.key.bytes } }
            }
        }
    }

    /// Returns the places from which to request a part: only the place where it is held, if there is one, otherwise all
    /// of them, with unresponsive origins last.
    private func places(of url: MediaURL) async -> [MediaURL] {
        guard let others = plan.alternatives[url] else { return [url] }
        let (all, dead) = ([url] + others, work.withLock(\.dead))
        for place in all {
            guard let (loader, lease) = try? await loaders.use(reach.reference(to: place)) else { continue }
            defer { withExtendedLifetime(lease) {} }
            try? await loader.ready()
            if loader.status.isHeldWhole { return [place] }
        }
        return all.filter { !dead.contains($0.origin) } + all.filter { dead.contains($0.origin) }
    }

    /// Fetches one part from one place, and records that the part belongs to the title.
    ///
    /// - Returns: the part's length in bytes.
    private func fetch(
        _ number: Int, _ part: MediaReference, _ pack: PackWriter, report: @escaping @Sendable () -> Void
    ) async throws -> Int64 {
        try Task.checkCancellation()
        guard !title.loader.record.isRetired.withLock({ $0 }) else { throw ResourceRecord.removed }
        let (loader, lease) = try await loaders.use(part)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        try await DerivedAccess(to: loader, for: part).admit()
        if options.requiresMedia, try await removesPage(loader, of: part) {
            return try await fetch(number, part, pack, report: report)
        }
        let small: BufferedFile?
        let isWhole = loader.status.isHeldWhole
        if isWhole {
            small = try await keep(loader)
        } else {
            small = try await fetchIfSmall(number, loader, report: report)
        }
        if let small {
            work.withLock { $0.packed[loader.record.id] = part }
            try await pack.add(small, of: loader.record)
        } else if !isWhole {
            try await title.download(loader, rate: rate) { [self] progress in
                work.withLock { $0.tally.note(number, held: progress.held, length: progress.total) }
                report()
            }
        }
        return small.map { Int64($0.bytes.count) } ?? loader.information?.length ?? 0
    }

    /// Keeps a part that is already held. Its content need not be compared with the origin's, because a manifest would
    /// name another URL for other content.
    ///
    /// - Returns: the part's bytes if only packs of other titles hold it, otherwise nil. Each title gets its own copy,
    ///   so that none depends on another.
    private func keep(_ loader: ResourceLoader) async throws -> BufferedFile? {
        let (record, owner, resourceClass) = (loader.record, title.resource, title.resourceClass)
        let (store, key) = (loader.store, owner.key.bytes)
        return try await loader.pool.run {
            guard record.place != nil, try !store.index.packs.hasWholeCopy(of: record.id, for: key) else {
                try record.join(owner, as: resourceClass)
                return nil
            }
            return try BufferedFile(held: loader)
        }
    }

    /// Fetches a part into memory; nil if it is too large for a pack.
    private func fetchIfSmall(
        _ number: Int, _ loader: ResourceLoader, report: @escaping @Sendable () -> Void
    ) async throws -> BufferedFile? {
        var arrived: Int64 = 0
        return try await BufferedFile.fetch(
            by: loader, limit: PackedPart.maxBytes, refusingPages: options.requiresMedia
        ) { count in
            arrived += Int64(count)
            work.withLock { [arrived] in $0.tally.note(number, held: arrived, length: nil) }
            report()
            try await loader.playbackPriority.yieldToPlayers(at: loader.origin.urls.current.url.origin)
            try await rate.take(Int64(count))
        }
    }
}

// Detects pages that a network sent in place of a part, such as a login page.
extension PartFetcher {
    /// Removes a page that was stored during playback in place of a part, such as a login page, so that the part is
    /// fetched again.
    ///
    /// - Returns: whether there was such a page.
    /// - Throws: ``VaultError`` with code `notMedia` if there is such a page, but it was not merely played.
    private func removesPage(_ loader: ResourceLoader, of part: MediaReference) async throws -> Bool {
        guard let page = try await heldPage(loader) else { return false }
        guard try await loaders.removeIfOnlyPlayed(loaders.name(part), loader) else { throw page }
        return true
    }

    /// Returns the error for a page that is held, whole or in part, in place of a title's part; nil if there is none.
    private func heldPage(_ loader: ResourceLoader) async throws -> VaultError? {
        guard let information = loader.information else { return nil }
        if let page = loader.pages.page(information) { return page }
        let isHeld = loader.status.isHeldWhole
        guard isHeld, (1...PageDetection.maxBytes).contains(information.length ?? 0) else { return nil }
        return try await loader.pool.run {
            // Bytes that are not durable yet have only just arrived, and were checked on arrival.
            guard var source = try? ExportSource(loader.store, loader.record.id, loader.url) else { return nil }
            return loader.pages.page(beginning: try source.bytes(at: 0, of: loader.store))
        }
    }
}

/// The title for which resources are fetched: its manifest as a resource, and that manifest's loader.
struct TitleOwner: Sendable {
    let resource: NamedResource
    let loader: ResourceLoader

    var url: MediaURL { resource.reference.url }
    var resourceClass: ResourceClass { loader.status.isPinned ? .pinned : .download }

    /// Downloads one resource over one connection, and records that it belongs to the title.
    func download(
        _ loader: ResourceLoader, rate: SharedRateLimit, tell: @escaping @Sendable (DownloadProgress) -> Void
    ) async throws {
        let (owner, resourceClass) = (resource, resourceClass)
        let mark: @Sendable (ResourceRecord) throws -> Bool = { record in
            // The title's record is written later, and that write makes this change durable.
            try record.join(owner, as: resourceClass)
            return false
        }
        try await DownloadJob(loader, DownloadOptions(), rate: rate, mark: mark, tell: tell).run()
    }
}
