import VaultCache
import VaultModel
import VaultStorage

/// One run of a reseal, which goes resource by resource and segment by segment, while the vault is otherwise used as
/// usual. An interrupted reseal continues where it stopped.
struct Resealer {
    let environment: KeyOperationEnvironment
    let order: ResealOrder
    private let tell: (ResealProgress) -> Void

    private var report: ResealReport
    private var pace: RateLimit?
    private var bytesTotal: Int64 = 0
    private var resourcesTotal = 0
    private var lastReport: ContinuousClock.Instant?
    /// The maximum number of segments sealed at a time. With two, one can be sealed while the other waits for the disk.
    private var width = 2
    /// The segments that were tried, each with its blocks that were known to be bad at the time. Trying a segment again
    /// is useless unless these have changed.
    private var tried: [SegmentID: Set<Int>] = [:]
    /// The segments that have failed to match their rows once. A second mismatch is final.
    private var changed: Set<SegmentID> = []

    /// A resource being resealed. The lease keeps its loader alive.
    private struct Entry {
        let loader: ResourceLoader
        let lease: LoaderLease
    }

    /// The number of resources that get their new keys before one catalog backup that covers them all. An index rebuild
    /// could not adopt segments sealed under a new key that is missing from the backup.
    private static let batch = 64
    private static let pageSize = 64
    /// How long to wait before checking again whether segments are still being written.
    private static let patience: Duration = .seconds(1)
    private static let interval: Duration = .milliseconds(100)

    /// - Parameter subjects: the names that receipts use for the requested resources.
    init(
        environment: KeyOperationEnvironment, order: ResealOrder, subjects: [String] = [],
        tell: @escaping (ResealProgress) -> Void
    ) {
        report = ResealReport(subjects: subjects)
        self.environment = environment
        self.order = order
        self.tell = tell
        pace = order.bytesPerSecond.map { RateLimit(bytesPerSecond: $0, now: .now) }
    }

    /// Runs the reseal. The last progress reported contains the report.
    mutating func run() async throws {
        let named = order.resources
        let queue = try await blocking { store in
            let wanted = try named.map { try store.index.titles.withParts($0) }
            return try ResealRows(store.index).resealQueue().filter { wanted?.contains($0) ?? true }
        }
        try await count(queue)
        var done: [ResourceID] = []
        var rest = queue[...]
        while !rest.isEmpty {
            done += try await reseal(Array(rest.prefix(Self.batch)))
            rest = rest.dropFirst(Self.batch)
        }
        let (log, order, finished) = (environment.log, order, done)
        // A title counts as resealed once all its parts are, except for parts that were added or removed during the
        // run.
        let left = Set(queue).subtracting(finished)
        try await blocking { store in
            let whole =
                named == nil
                ? finished
                : try finished.filter { id in
                    try store.index.titles.parts(of: id).allSatisfy { !left.contains($0.id) }
                }
            try SegmentReseal(store).finishOrder(order, of: whole, noting: log)
        }
        tell(step(report))
    }

    private mutating func count(_ queue: [ResourceID]) async throws {
        resourcesTotal = queue.count
        bytesTotal = try await blocking { store in
            let rows = ResealRows(store.index)
            return try queue.reduce(0) { $0 + (try rows.bytes(of: $1)) }
        }
        progress()
    }

    /// Reseals a batch of resources.
    ///
    /// - Returns: the resources that are finished.
    private mutating func reseal(_ batch: [ResourceID]) async throws -> [ResourceID] {
        var entries: [Entry] = []
        var done: [ResourceID] = []
        for id in batch {
            switch try await begin(id) {
            case .begun(let entry): entries.append(entry)
            case .doneBefore:
                done.append(id)
                resourcesTotal -= 1
            case .left: resourcesTotal -= 1
            }
        }
        guard !entries.isEmpty else { return done }
        try await blocking { try $0.catalogBackup.write() }
        while !entries.isEmpty {
            var growing: [Entry] = []
            for entry in entries {
                switch try await sealAll(of: entry.loader) {
                case .done:
                    done.append(entry.loader.record.id)
                    report.resources += 1
                case .growing: growing.append(entry)
                case .stuck: report.problems += 1
                case .gone: resourcesTotal -= 1
                }
            }
            entries = growing
            if !growing.isEmpty { try await Task.sleep(for: Self.patience) }
        }
        return done
    }

    private enum Beginning {
        case begun(Entry)
        /// The resource was finished earlier in this reseal, which was then interrupted; its receipt has yet to be
        /// written.
        case doneBefore
        /// The resource is left out, because it was removed or does not open.
        case left
    }

    /// Gives a resource its new key.
    private mutating func begin(_ id: ResourceID) async throws -> Beginning {
        do {
            guard let resource = try await blocking({ try $0.index.resources.find(id) }) else { return .left }
            let (loader, lease) = try environment.loaders.use(resource)
            try await loader.ready()
            let (record, run) = (loader.record, order.run)
            guard let isLeft = try await blocking({ _ in try record.beginReseal(run: run) }) else { return .left }
            return isLeft ? .begun(Entry(loader: loader, lease: lease)) : .doneBefore
        } catch let error as VaultError where error.code == .integrity {
            report.problems += 1
            return .left
        } catch let error as VaultError where error.code == .removed {
            return .left
        }
    }

    private enum Outcome {
        case done
        /// A segment is still being written, or cannot be replaced yet.
        case growing
        /// A segment cannot be read, so the resource keeps an older key.
        case stuck
        /// The resource was removed during the reseal.
        case gone
    }

    private mutating func sealAll(of loader: ResourceLoader) async throws -> Outcome {
        let record = loader.record
        while true {
            // Segments that were already tried appear in the page again, so the limit grows to leave room for those
            // after them.
            let limit = Self.pageSize + tried.count
            let page = try await blocking { _ in try record.resealTasks(limit: limit) }
            let known = tried
            let tasks = page.filter { known[$0.segment.id] != $0.badBlocks }
            let ready = tasks.filter { !$0.isOpen && loader.canReplace($0.segment) }
            try await seal(ready, of: loader)
            guard ready.isEmpty else { continue }
            guard tasks.isEmpty else { return .growing }
            guard let isDone = try await blocking({ _ in try record.finishReseal() }) else { return .gone }
            return isDone ? .done : .stuck
        }
    }

    /// Reseals segments, several at a time. If the disk does not have enough space for several, one at a time.
    private mutating func seal(_ tasks: [ResealTask], of loader: ResourceLoader) async throws {
        let resealer = SegmentResealer(loader: loader)
        var waiting = tasks[...]
        var refused: [ResealTask] = []
        try await withThrowingTaskGroup(of: (ResealTask, SegmentResealer.Outcome).self) { group in
            var running = 0
            while true {
                while running < width, let task = waiting.popFirst() {
                    group.addTask { (task, await resealer.seal(task)) }
                    running += 1
                }
                guard running > 0, let (task, outcome) = try await group.next() else { return }
                running -= 1
                if case .full = outcome {
                    (refused, width) = (refused + [task], 1)
                } else {
                    try await note(outcome, of: task)
                }
            }
        }
        for task in refused { try await note(try await sealAlone(task, resealer), of: task) }
    }

    /// Reseals a segment that did not fit on the disk alongside another. If it still does not fit, frees space for it.
    private func sealAlone(_ task: ResealTask, _ resealer: SegmentResealer) async throws -> SegmentResealer.Outcome {
        let outcome = await resealer.seal(task)
        guard case .full = outcome, try await blocking({ $0.quota.freeDiskSpace() }) else { return outcome }
        return await resealer.seal(task)
    }

    private mutating func note(_ outcome: SegmentResealer.Outcome, of task: ResealTask) async throws {
        switch outcome {
        case .sealed:
            report.segments += 1
            report.bytes += task.segment.length
        case .unreadable: tried[task.segment.id] = task.badBlocks
        case .damaged:
            tried[task.segment.id] = task.badBlocks
            report.damage += 1
        case .changed:
            if !changed.insert(task.segment.id).inserted { tried[task.segment.id] = task.badBlocks }
        case .full(let error): throw error
        case .failed(let error): throw error
        }
        let delay = pace?.take(task.segment.length, now: .now)
        // Report progress before a long wait, because the wait would delay the report.
        if let delay, delay > Self.interval { lastReport = nil }
        progress()
        if let delay { try await Task.sleep(for: delay) }
    }

    /// Runs a blocking call on the blocking pool.
    private func blocking<Result: Sendable>(
        _ call: @escaping @Sendable (VaultStore) throws -> Result
    ) async throws -> Result {
        try Task.checkCancellation()
        let store = environment.store
        return try await environment.pool.run { try call(store) }
    }

    // MARK: Progress

    private mutating func progress() {
        let now = ContinuousClock.now
        if let lastReport, now - lastReport < Self.interval { return }
        lastReport = now
        tell(step(nil))
    }

    private func step(_ report: ResealReport?) -> ResealProgress {
        ResealProgress(
            bytes: self.report.bytes, bytesTotal: max(bytesTotal, self.report.bytes), resources: self.report.resources,
            resourcesTotal: max(resourcesTotal, self.report.resources), report: report)
    }
}

/// Reseals segments of one resource, each separately, so that one can be sealed while another is synced.
struct SegmentResealer: Sendable {
    let loader: ResourceLoader

    enum Outcome: Sendable {
        case sealed
        /// The segment cannot be read, so nothing is known about its bytes. It stays as it is.
        case unreadable
        /// The segment does not open. Its damaged part becomes a gap.
        case damaged
        /// The segment was removed or invalidated, so its rows must be read again.
        case changed
        /// The disk has no space for the new segment at the moment.
        case full(VaultError)
        case failed(any Error)
    }

    /// Reseals a segment, and redirects readers to the new segment.
    func seal(_ task: ResealTask) async -> Outcome {
        let (record, store) = (loader.record, loader.store)
        do {
            try Task.checkCancellation()
            guard let new = try await loader.pool.run({ try record.reseal(task) }) else { return .changed }
            loader.exchange([task.segment], for: new)
            try await loader.pool.run { SegmentReseal(store).removeReplaced([task.segment], by: new) }
            return .sealed
        } catch SegmentFailure.unreadable {
            return .unreadable
        } catch let failure as SegmentFailure {
            await loader.invalidate(task.segment, for: failure)
            return .damaged
        } catch let error as VaultError where error.code == .changed {
            return .changed
        } catch let error as VaultError where error.code == .diskFull {
            return .full(error)
        } catch {
            return .failed(error)
        }
    }
}
