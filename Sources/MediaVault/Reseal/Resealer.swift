import VaultModel
import VaultStorage

/// One reseal, from beginning to end: resource by resource, and segment by segment beside everything else that the vault
/// does. What is done stays done; one that is broken off goes on where it was.
struct Resealer {
    let vault: Vault
    let order: ResealOrder
    private let tell: (ResealProgress) -> Void

    private var report = ResealReport()
    private var pace: RateLimit?
    private var bytesTotal: Int64 = 0
    private var resourcesTotal = 0
    private var lastTold: ContinuousClock.Instant?
    /// Segments that cannot be read now.
    private var unreadable: Set<SegmentID> = []

    /// A resource at work: nobody lets go of its loader meanwhile.
    private struct Entry {
        let loader: ResourceLoader
        let lease: LoaderLease
    }

    /// Resources that get their keys before the catalog is backed up once for all of them: without the new key in the
    /// backup, what is sealed under it could not be taken in by an index that is made anew.
    private static let batch = 64
    private static let pageSize = 64
    /// How long growing segments are waited for.
    private static let patience: Duration = .seconds(1)
    private static let interval: Duration = .milliseconds(100)

    init(vault: Vault, order: ResealOrder, tell: @escaping (ResealProgress) -> Void) {
        self.vault = vault
        self.order = order
        self.tell = tell
        pace = order.bytesPerSecond.map { RateLimit(bytesPerSecond: $0, now: .now) }
    }

    /// Runs it; the last step that is told carries the report.
    mutating func run() async throws {
        let wanted = order.resources
        let queue = try await blocking { try $0.index.resealQueue().filter { wanted?.contains($0) ?? true } }
        try await count(queue)
        var done: [ResourceID] = []
        var rest = queue[...]
        while !rest.isEmpty {
            done += try await reseal(Array(rest.prefix(Self.batch)))
            rest = rest.dropFirst(Self.batch)
        }
        let (vault, order, finished) = (vault, order, done)
        try await blocking { store in
            if order.resources == nil {
                try vault.auditLog.note(.reseal, resources: Int64(finished.count))
            } else {
                for id in finished { try vault.auditLog.note(.reseal, subject: id) }
            }
            try store.finishResealOrder(order)
        }
        tell(step(report))
    }

    private mutating func count(_ queue: [ResourceID]) async throws {
        resourcesTotal = queue.count
        bytesTotal = try await blocking { store in try queue.reduce(0) { $0 + (try store.index.bytes(of: $1)) } }
        progress()
    }

    private mutating func reseal(_ batch: [ResourceID]) async throws -> [ResourceID] {
        var entries: [Entry] = []
        for id in batch {
            if let entry = try await begin(id) { entries.append(entry) } else { resourcesTotal -= 1 }
        }
        guard !entries.isEmpty else { return [] }
        try await blocking { try $0.backUpCatalog() }
        var done: [ResourceID] = []
        while !entries.isEmpty {
            var growing: [Entry] = []
            for entry in entries {
                switch try await sealAll(of: entry.loader) {
                case .done:
                    done.append(entry.loader.record.id)
                    report.resources += 1
                case .growing: growing.append(entry)
                case .stuck: report.problems += 1
                }
            }
            entries = growing
            if !growing.isEmpty { try await Task.sleep(for: Self.patience) }
        }
        return done
    }

    /// Gives a resource its new key; nil where nothing is to be done.
    private mutating func begin(_ id: ResourceID) async throws -> Entry? {
        do {
            guard let resource = try await blocking({ try $0.index.resource(id) }) else { return nil }
            let (loader, lease) = try vault.use(resource)
            try await loader.ready()
            let (record, run) = (loader.record, order.run)
            let isLeft = try await blocking { _ in try record.beginReseal(run: run) }
            return isLeft ? Entry(loader: loader, lease: lease) : nil
        } catch let error as VaultError where error.code == .integrity {
            report.problems += 1
            return nil
        } catch let error as VaultError where error.code == .removed {
            return nil
        }
    }

    private enum Outcome {
        case done
        /// Something is still being written.
        case growing
        /// Something cannot be read.
        case stuck
    }

    private mutating func sealAll(of loader: ResourceLoader) async throws -> Outcome {
        let record = loader.record
        while true {
            let page = try await blocking { _ in try record.resealTasks(limit: Self.pageSize) }
            let (tasks, known) = (page, unreadable)
            let ready = tasks.filter {
                !$0.isOpen && !known.contains($0.segment.id) && loader.hasTakenOver($0.segment)
            }
            for task in ready { try await seal(task, of: loader) }
            guard ready.isEmpty else { continue }
            if tasks.contains(where: { $0.isOpen || !known.contains($0.segment.id) }) { return .growing }
            return try await blocking { _ in try record.finishReseal() } ? .done : .stuck
        }
    }

    private mutating func seal(_ task: ResealTask, of loader: ResourceLoader) async throws {
        let record = loader.record
        do {
            try await givingRoom { [self] in
                guard let new = try await blocking({ _ in try record.reseal(task) }) else { return }
                loader.exchange(task.segment, for: new)
                try await blocking { $0.removeResealed(task.segment, for: new) }
            }
            report.segments += 1
            report.bytes += task.segment.length
        } catch SegmentFailure.unreadable {
            unreadable.insert(task.segment.id)
        } catch let failure as SegmentFailure {
            report.damage += 1
            await loader.condemn(task.segment, for: failure)
        } catch let error as VaultError where error.code == .changed {
            // It was removed, or condemned: the next look at its rows says what is left.
            return
        }
        progress()
        if let delay = pace?.take(task.segment.length, now: .now) { try await Task.sleep(for: delay) }
    }

    /// Does it once more where the disk was full and something could go.
    private func givingRoom(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as VaultError where error.code == .diskFull {
            guard try await blocking({ $0.makeDiskRoom() }) else { throw error }
            try await body()
        }
    }

    /// Runs a call on the blocking pool.
    private func blocking<Result: Sendable>(
        _ call: @escaping @Sendable (VaultStore) throws -> Result
    ) async throws -> Result {
        try Task.checkCancellation()
        let store = vault.store
        return try await vault.pool.run { try call(store) }
    }

    // MARK: Telling

    private mutating func progress() {
        let now = ContinuousClock.now
        if let lastTold, now - lastTold < Self.interval { return }
        lastTold = now
        tell(step(nil))
    }

    private func step(_ report: ResealReport?) -> ResealProgress {
        ResealProgress(
            bytes: self.report.bytes, bytesTotal: max(bytesTotal, self.report.bytes), resources: self.report.resources,
            resourcesTotal: max(resourcesTotal, self.report.resources), report: report)
    }
}
