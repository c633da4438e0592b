import VaultManifest
import VaultModel

/// One download at work: lanes, each a reader, that take what is missing piece by piece, side by side.
final class DownloadJob: Sendable {
    private let loader: ResourceLoader
    private let options: DownloadOptions
    private let tell: @Sendable (DownloadProgress) -> Void
    private let work = Locked(Work())

    private struct Work {
        /// What no lane has taken yet.
        var plan = DownloadPlan()
        /// Every fetch that a lane took bytes from.
        var fetches: Set<FetchState.ID> = []
        /// What was held before: it costs the origin nothing.
        var heldBefore = ByteRanges()
        var rate: RateLimit?
        var lastTold: ContinuousClock.Instant?
        /// Whether the origin has sent anything yet.
        var hasReceived = false
    }

    /// How often progress is told.
    private static let interval: Duration = .milliseconds(100)
    /// How often what is missing is asked for.
    private static let mostAttempts = 3

    init(_ loader: ResourceLoader, _ options: DownloadOptions, tell: @escaping @Sendable (DownloadProgress) -> Void) {
        self.loader = loader
        self.options = options
        self.tell = tell
        work.withLock { $0.rate = options.bytesPerSecond.map { RateLimit(bytesPerSecond: $0, now: .now) } }
    }

    /// Fetches what is missing; returns when all of it is durable.
    func run() async throws {
        // What a player was refused a moment ago may be taken now.
        try? await loader.ready()
        await loader.storeAgain()
        guard try mayStore() else { return tell(progress) }
        // What was lost on the way, to a disk that was full for a moment say, is fetched once more; and a representation
        // that changed is begun anew.
        for attempt in 1...Self.mostAttempts {
            do {
                try await fill()
                if loader.look({ $0.missing.isEmpty || $0.refusal != nil }) { break }
            } catch let error as VaultError where error.code == .changed && attempt < Self.mostAttempts {
                // What came of the old representation goes when the new one is there.
            }
        }
        try finish()
    }

    /// False where there is nothing to store.
    private func mayStore() throws -> Bool {
        let (mode, isWhole) = loader.look { ($0.mode, $0.information?.length != nil && $0.missing.isEmpty) }
        guard mode == .noStore else { return true }
        guard isWhole else {
            throw VaultError(
                .storage, "\(loader.url) is not stored in mode no-store; change its mode or the vault's, and try again")
        }
        return false
    }

    private func fill() async throws {
        var isShared = options.connections > 1
        var opening = try await open(isShared)
        if isShared, loader.isBound {
            // Nothing tells whether what other connections bring is the same.
            let reader = opening.reader
            loader.change { $0.removeReader(reader) }
            isShared = false
            opening = try await open(isShared)
        }
        let first = Lane(reader: opening.reader, position: opening.range?.lowerBound ?? 0)
        do {
            let record = loader.record
            try await loader.pool.run { try record.becomeDownload() }
            share(beyond: opening)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.run(first) }
                if isShared { for _ in 1..<options.connections { group.addTask { try await self.run(nil) } } }
                try await group.waitForAll()
            }
        } catch {
            // No lane may have taken it over yet, and its fetch goes on as long as it is there.
            loader.change { $0.removeReader(opening.reader) }
            await loader.settle(work.withLock(\.fetches))
            throw error
        }
        await loader.settle(work.withLock(\.fetches))
    }

    /// Opens what the first lane brings: where it is shared no more than a piece of it.
    private func open(_ isShared: Bool) async throws -> Opening {
        guard isShared else { return try await loader.open(.whole, isDownload: true) }
        do {
            return try await loader.open(.closed(first: 0, last: DownloadPlan.leastPiece - 1), isDownload: true)
        } catch let error as VaultError where error.code == .unsatisfiableRange && error.length == 0 {
            // Of nothing there is no first piece.
            return try await loader.open(.whole, isDownload: true)
        }
    }

    /// Plans what the first reader does not bring.
    private func share(beyond opening: Opening) {
        let (held, length) = loader.look { ($0.map.covered, $0.information?.length) }
        let begun = opening.range?.upperBound ?? .max
        let missing = length.map { begun < $0 ? held.gaps(in: begun..<$0) : [] } ?? []
        work.withLock { work in
            work.heldBefore = held
            work.plan = DownloadPlan(missing: missing, connections: options.connections)
        }
    }

    // MARK: Lanes

    /// One reader of the download, and where it begins.
    private struct Lane {
        let reader: ReaderState.ID
        let position: Int64
    }

    /// Takes pieces until none is left.
    private func run(_ first: Lane?) async throws {
        var next = first
        while let lane = next ?? takePiece() {
            next = nil
            defer { loader.change { $0.removeReader(lane.reader) } }
            try await walk(lane)
            // Where the store refuses, the pieces that are left would only ask the origin in vain.
            if loader.look({ $0.refusal != nil }) { return }
        }
    }

    private func takePiece() -> Lane? {
        guard let piece = work.withLock({ $0.plan.next() }) else { return nil }
        return Lane(reader: loader.change { ($0.addReader(piece), Effects()) }, position: piece.lowerBound)
    }

    private func walk(_ lane: Lane) async throws {
        var walk = GapCursor(loader, lane.reader, from: lane.position)
        var isPatient = false
        while true {
            try await loader.precedence.standBack(at: loader.addresses.current.url.origin)
            tellIfDue()
            if !isPatient { isPatient = becomePatient(lane) }
            switch try await walk.next(noting: note) {
            case .ended: return
            case .waited: break
            case .passed(let bytes, let isNew):
                if isNew { work.withLock { $0.hasReceived = true } }
                try await keepToRate(bytes)
            }
        }
    }

    /// An origin that gave something is waited for; of one that gives nothing the download says so at once.
    private func becomePatient(_ lane: Lane) -> Bool {
        guard work.withLock(\.hasReceived) else { return false }
        loader.change { $0.begin(lane.reader, isDownload: true) }
        return true
    }

    private func note(_ fetch: FetchState.ID) { work.withLock { _ = $0.fetches.insert(fetch) } }

    /// Goes on no faster than the limit lets bytes come that were not held before.
    private func keepToRate(_ passed: ByteRange) async throws {
        let delay = work.withLock { work -> Duration in
            let bytes = work.heldBefore.gaps(in: passed).reduce(0) { $0 + $1.length }
            return work.rate?.take(bytes, now: .now) ?? .zero
        }
        if delay > .zero { try await Task.sleep(for: delay) }
    }

    // MARK: Telling

    private func tellIfDue() {
        let isDue = work.withLock { work in
            guard work.lastTold.map({ .now - $0 >= Self.interval }) ?? true else { return false }
            work.lastTold = .now
            return true
        }
        if isDue { tell(progress) }
    }

    /// What came must be held now; where the store refused, the download says why.
    private func finish() throws {
        let (missing, failure) = loader.look { ($0.missing, $0.storeFailure) }
        guard let first = missing.first else { return tell(progress) }
        let count = missing.reduce(0) { $0 + $1.length }
        var error = VaultError(
            failure?.code ?? .storage,
            "\(count) bytes of \(loader.url) could not be stored: \(failure?.message ?? "the store refused")")
        error.firstMissing = first.lowerBound
        throw error
    }

    private var progress: DownloadProgress {
        loader.look { state in
            var held = state.map.covered
            for fetch in state.fetches.values where fetch.isStoring {
                held.insert(contentsOf: fetch.start..<fetch.present)
            }
            return DownloadProgress(
                held: held.byteCount, total: state.information?.length, type: state.information?.type,
                manifest: ManifestDetection.kind(type: state.information?.type, path: loader.url.path))
        }
    }
}

/// Leads a reader through its bytes without handing them to anybody: what is missing comes into the vault on the way.
struct GapCursor {
    /// How far one step has come.
    enum Step {
        /// These bytes are behind it; `isNew` where the origin has just sent them.
        case passed(ByteRange, isNew: Bool)
        /// It has waited, and may go on.
        case waited
        /// Nothing is left, or the store refuses: a player goes on without the store, a walk has nothing to go on for.
        case ended
    }

    let loader: ResourceLoader
    let reader: ReaderState.ID
    private(set) var position: Int64

    init(_ loader: ResourceLoader, _ reader: ReaderState.ID, from position: Int64) {
        self.loader = loader
        self.reader = reader
        self.position = position
        loader.change { $0.beginFilling(reader) }
    }

    /// Goes one step on.
    ///
    /// - Parameter note: told of the fetch that the reader takes bytes from, before that is waited for: it has to be
    ///   settled when the walk is over, however that ends.
    /// - Throws: ``VaultError`` with `firstMissing` set where it says so; `CancellationError`.
    mutating func next(noting note: (FetchState.ID) -> Void) async throws -> Step {
        let step = loader.step(reader)
        let (fetch, isStored) = loader.look { ($0.readers[reader]?.fetch, $0.bypass(reader) == nil) }
        if let fetch { note(fetch) }
        guard isStored else { return .ended }
        switch step {
        case .finished: return .ended
        case .take(let bytes): return pass(position + Int64(bytes.count), isNew: true)
        case .open(_, let run): return pass(run.upperBound, isNew: false)
        case .wait, .fetch:
            try await loader.waitForWake(reader)
            return .waited
        case .changed: throw MediaReader.changed(loader.url, position)
        case .hole(_, let isDamage): throw MediaReader.hole(at: position, isDamage: isDamage)
        case .failed(let failure): throw failure.vaultError(for: loader.url, at: position)
        }
    }

    private mutating func pass(_ end: Int64, isNew: Bool) -> Step {
        defer { position = end }
        loader.change { $0.advance(reader, to: end) }
        return .passed(position..<end, isNew: isNew)
    }
}
