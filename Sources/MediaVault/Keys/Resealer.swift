import VaultModel
import VaultStorage

/// One reseal, resource by resource and segment by segment, concurrent with all other use of the vault. An interrupted
/// reseal continues where it stopped.
struct Resealer {
    let keys: KeyAdministration
    let order: ResealOrder
    private let tell: (ResealProgress) -> Void

    private var report: ResealReport
    private var pace: RateLimit?
    private var bytesTotal: Int64 = 0
    private var resourcesTotal = 0
    private var lastReport: ContinuousClock.Instant?
    /// How many segments are sealed at a time: one can be sealed while another waits for the disk.
    private var width = 2
    /// Segments that were tried, with the blocks known to be bad at the time; trying again without a change is useless.
    private var tried: [SegmentID: Set<Int>] = [:]
    /// Segments that did not match their rows once. A second mismatch is final.
    private var changed: Set<SegmentID> = []

    /// A resource being resealed; the lease keeps its loader alive.
    private struct Entry {
        let loader: ResourceLoader
        let lease: LoaderLease
    }

    /// The number of resources that get their keys before one catalog backup covers them all. Without the new key in
    /// the backup, an index rebuild could not adopt segments sealed under it.
    private static let batch = 64
    private static let pageSize = 64
    /// How long to wait for segments that are still being written.
    private static let patience: Duration = .seconds(1)
    private static let interval: Duration = .milliseconds(100)

    /// - Parameter subjects: the names that receipts use for the requested resources.
    init(keys: KeyAdministration, order: ResealOrder, subjects: [String] = [], tell: @escaping (ResealProgress) -> Void)
    {
        report = ResealReport(subjects: subjects)
        self.keys = keys
        self.order = order
        self.tell = tell
        pace = order.bytesPerSecond.map { RateLimit(bytesPerSecond: $0, now: .now) }
    }

    /// Runs the reseal; the last step reported contains the report.
    mutating func run() async throws {
        let named = order.resources
        let queue = try await blocking { store in
            let wanted = try named.map { try store.index.withParts($0) }
            return try ResealRows(store.index).resealQueue().filter { wanted?.contains($0) ?? true }
        }
        try await count(queue)
        var done: [ResourceID] = []
        var rest = queue[...]
        while !rest.isEmpty {
            done += try await reseal(Array(rest.prefix(Self.batch)))
            rest = rest.dropFirst(Self.batch)
        }
        let (log, order, finished) = (keys.log, order, done)
        // A title is resealed when all its parts are, except parts that were added or removed during the run.
        let left = Set(queue).subtracting(finished)
        try await blocking { store in
            let whole =
                named == nil
                ? finished
                : try finished.filter { id in try store.index.parts(of: id).allSatisfy { !left.contains($0.id) } }
            try store.finishResealOrder(order, of: whole, noting: log)
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

    /// - Returns: the resources that this run has finished.
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
        try await blocking { try $0.backUpCatalog() }
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
        /// Done earlier in this run, which was interrupted: its receipt is still to be written.
        case doneBefore
        /// The resource was removed, or does not open.
        case left
    }

    /// Gives a resource its new key.
    private mutating func begin(_ id: ResourceID) async throws -> Beginning {
        do {
            guard let resource = try await blocking({ try $0.index.resource(id) }) else { return .left }
            let (loader, lease) = try keys.loaders.use(resource)
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
        /// A segment is still being written.
        case growing
        /// Something cannot be read.
        case stuck
        /// The resource was removed during the reseal.
        case gone
    }

    private mutating func sealAll(of loader: ResourceLoader) async throws -> Outcome {
        let record = loader.record
        while true {
            // Segments that were tried come up again, and must not hide those after them.
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

    /// Seals segments again, several at a time. If the disk has space for only one, one at a time.
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

    /// Reseals a segment that did not fit on the disk beside another; if necessary, frees space for it.
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
        // Report progress before a long wait, which would otherwise delay it.
        if let delay, delay > Self.interval { lastReport = nil }
        progress()
        if let delay { try await Task.sleep(for: delay) }
    }

    /// Runs a call on the blocking pool.
    private func blocking<Result: Sendable>(
        _ call: @escaping @Sendable (VaultStore) throws -> Result
    ) async throws -> Result {
        try Task.checkCancellation()
        let store = keys.store
        return try await keys.pool.run { try call(store) }
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

/// Seals segments of one resource again, each on its own, so that one can be sealed while another is synced.
struct SegmentResealer: Sendable {
    let loader: ResourceLoader

    enum Outcome: Sendable {
        case sealed
        /// Nothing is known about the bytes: the segment stays as it is.
        case unreadable
        /// The segment does not open: the damaged part becomes a gap.
        case damaged
        /// The segment was removed or invalidated: its rows must be read again.
        case changed
        /// The disk has no space for it now.
        case full(VaultError)
        case failed(any Error)
    }

    /// Seals a segment again, and redirects readers to the new segment.
    func seal(_ task: ResealTask) async -> Outcome {
        let (record, store) = (loader.record, loader.store)
        do {
            try Task.checkCancellation()
            guard let new = try await loader.pool.run({ try record.reseal(task) }) else { return .changed }
            loader.exchange([task.segment], for: new)
            try await loader.pool.run { store.removeResealed(task.segment, for: new) }
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

extension ResourceLoader {
    /// Returns whether a closed segment can be replaced: the loader knows it at this length, or no fetch is running.
    /// While segments are being joined, the index may name one that the loader does not know yet.
    func canReplace(_ segment: SegmentDescription) -> Bool {
        guard !joining.withLock(\.isRunning) else { return false }
        return look { $0.map.length(of: segment.id) == segment.length } || !isFetching
    }

    /// Redirects readers to new segments with the same bytes. A reader of an old segment either still has it open, or
    /// looks it up again.
    func exchange(_ old: [SegmentDescription], for new: [SegmentDescription]) {
        change { state in
            state.map.exchange(old.map(\.id), for: new)
            return Effects()
        }
        for segment in old { opened.drop(segment.id) }
    }
}
