import VaultCache
import VaultModel
import VaultStorage

/// Collects the facts that determine whether titles are ready. It only reads the vault, and contacts no origin.
struct ReadinessInspection: Sendable {
    let loaders: LoaderTable
    let queue: DownloadQueue
    let options: ReadinessOptions
    /// Whether the limits in force may evict downloads.
    let evictsDownloads: Bool

    private var store: VaultStore { loaders.environment.store }
    private var pool: BlockingPool { loaders.environment.pool }

    /// The number of titles that are read from the index at a time.
    private static let pageSize = 64
    /// The maximum number of a title's segments to open: the first, the last, and some between. Of each, the first and
    /// the last block are opened.
    static let maxOpened = 8

    /// Examines each title that should be ready.
    func run() async throws -> ReadinessTally {
        var tally = ReadinessTally()
        let queued = try await queuedTitles()
        var last: ResourceID?
        while true {
            try Task.checkCancellation()
            let (store, after) = (store, last)
            let rows = try await pool.run {
                try store.index.resources.sealed(after: after, limit: Self.pageSize, parts: false)
            }
            for row in rows {
                try Task.checkCancellation()
                guard let facts = try await pool.run({ try facts(of: row, queued) }) else { continue }
                tally.add(facts)
            }
            guard rows.count == Self.pageSize, let end = rows.last?.id else { return tally }
            last = end
        }
    }

    /// Returns the state of each title in the download queue.
    private func queuedTitles() async throws -> [TitleID: DownloadSnapshot.State] {
        var states: [TitleID: DownloadSnapshot.State] = [:]
        var next: DownloadCursor?
        repeat {
            let page = try await queue.page(after: next, limit: 1000)
            for entry in page.downloads { states[entry.title] = entry.state }
            next = page.next
        } while next != nil
        return states
    }

    // MARK: One title, which blocks

    /// Returns the facts about a title; nil if the title need not be ready.
    private func facts(of row: SealedResource, _ queued: [TitleID: DownloadSnapshot.State]) throws -> TitleFacts? {
        let wanted: Set<ResourceClass> = options.hasDownloads ? [.pinned, .download] : [.pinned]
        // If the stored class is invalid, the title may have been in any class, so it is examined.
        guard options.titles != nil || row.resourceClass.map(wanted.contains) ?? true else { return nil }
        guard let resource = try store.index.resources.openIfSound(row) else {
            return TitleFacts(opening: TitleFacts.Opening(unopened: 1))
        }
        let summary = ResourceSummary(resource)
        if let titles = options.titles { guard let id = summary.id, titles.contains(id) else { return nil } }
        var facts = TitleFacts(id: summary.id, name: summary.name, url: (try? MediaURL(summary.url))?.description)
        facts.bytes = summary.title?.bytes ?? summary.bytes
        facts.holding = holding(of: resource, summary)
        facts.opening = try opening(of: resource)
        facts.queued = summary.id.flatMap { queued[$0] }
        facts.isEvictable =
            resource.resourceClass == .cache || resource.resourceClass == .download && evictsDownloads
        return facts
    }

    private func holding(of resource: StoredResource, _ summary: ResourceSummary) -> TitleFacts.Holding {
        guard summary.isManifest else {
            guard !summary.isComplete else { return .whole }
            let isLoss = resource.serving?.badBlocks.contains { !$0.value.isEmpty } ?? false
            return .partial(count: summary.size.map { $0 - summary.bytes }, isLoss: isLoss)
        }
        guard let title = summary.title else { return .onlyPlayed }
        guard !title.isComplete || !summary.isComplete else { return .whole }
        let missing = title.size.map { $0 - title.bytes }.flatMap { $0 > 0 ? $0 : nil }
        return .partial(count: missing, isLoss: resource.metadata.title?["lost"] == .bool(true))
    }

    /// Checks that the files of a title exist, and opens some of their blocks.
    ///
    /// If something is wrong, the rows are read and examined again, because a missing segment may have been joined to
    /// others or sealed again since its row was read.
    private func opening(of resource: StoredResource) throws -> TitleFacts.Opening {
        let found = try examine(resource)
        guard found != TitleFacts.Opening(), let now = try store.index.resources.find(resource.id) else { return found }
        return try examine(now)
    }

    private func examine(_ resource: StoredResource) throws -> TitleFacts.Opening {
        var opening = TitleFacts.Opening()
        let segments = try segments(of: resource, &opening)
        for (_, segment) in segments {
            do throws(FileFailure) {
                if try store.segmentFiles.size(of: segment.id) < segment.fileSize { opening.missingFiles += 1 }
            } catch {
                if error.kind == .notFound { opening.missingFiles += 1 } else { opening.unreadable += 1 }
            }
        }
        guard opening.missingFiles == 0, opening.unreadable == 0 else { return opening }
        for index in Self.sample(of: segments.count) {
            let (owner, segment) = segments[index]
            do {
                let reader = try store.segments.reader(of: segment, resource: owner)
                for block in Set([0, segment.blockCount - 1]) {
                    opening.unopened += try reader.badBlocks(in: block..<block + 1, of: segment).count
                }
            } catch let failure as SegmentFailure {
                switch failure {
                case .missing: opening.missingFiles += 1
                case .foreign, .wrongKey, .badBlock: opening.unopened += 1
                case .unreadable: opening.unreadable += 1
                }
            }
        }
        return opening
    }

    /// Returns the segments of a title and of its parts, each with the resource whose key seals it.
    private func segments(
        of resource: StoredResource, _ opening: inout TitleFacts.Opening
    ) throws -> [(owner: StoredResource, segment: SegmentDescription)] {
        var segments = Self.sealed(in: resource)
        for part in try store.index.titles.parts(of: resource.id) {
            do {
                guard let part = try store.index.resources.find(part.id) else { continue }
                segments += Self.sealed(in: part)
                if part.metadata.isPack {
                    opening.unopened += try store.index.packs.parts(of: part).unopened
                } else if part.resourceClass != .cache, !part.isWhole {
                    opening.brokenParts += 1
                }
            } catch let error as VaultError where error.code == .integrity {
                opening.unopened += 1
            }
        }
        return segments
    }

    /// Returns the segments of one resource, without those with known damage, because those already count as missing.
    private static func sealed(in resource: StoredResource) -> [(owner: StoredResource, segment: SegmentDescription)] {
        guard let serving = resource.serving else { return [] }
        return serving.segments.filter { $0.length > 0 && serving.badBlocks[$0.id]?.isEmpty ?? true }
            .map { (resource, $0) }
    }

    /// Returns at most ``maxOpened`` indices below `count`, evenly spread, including the first and the last.
    static func sample(of count: Int) -> [Int] {
        guard count > maxOpened else { return Array(0..<count) }
        return (0..<maxOpened).map { $0 * (count - 1) / (maxOpened - 1) }
    }
}
