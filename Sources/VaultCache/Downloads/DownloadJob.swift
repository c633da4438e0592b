import VaultManifest
import VaultModel
import VaultStorage

/// A running download: several lanes, each with its own reader, fetch the missing pieces in parallel.
package final class DownloadJob: Sendable {
    private let loader: ResourceLoader
    private let options: DownloadOptions
    private let rate: SharedRateLimit
    /// Records that the resource was requested by name, and returns whether this becomes durable only with the next
    /// write. May block.
    private let mark: @Sendable (ResourceRecord) throws -> Bool
    private let tell: @Sendable (DownloadProgress) -> Void
    private let work = Locked(Work())

    private struct Work {
        /// The pieces that no lane has taken yet.
        var plan = DownloadPlan()
        /// Every fetch from which a lane took bytes.
        var fetches: Set<FetchState.ID> = []
        /// The ranges that were held before the download began. They cost the origin nothing.
        var heldBefore = ByteRanges()
        var lastReport: ContinuousClock.Instant?
        /// Whether the origin has sent anything yet.
        var hasReceived = false
        /// The number of lanes still fetching.
        var lanes = 0
    }

    /// How often progress is reported.
    private static let interval: Duration = .milliseconds(100)
    /// The maximum number of attempts to fetch the missing bytes.
    private static let maxAttempts = 3

    /// - Parameter rate: a limit shared by several downloads; nil for a limit of this download's own.
    package init(
        _ loader: ResourceLoader, _ options: DownloadOptions, rate: SharedRateLimit? = nil,
        mark: @escaping @Sendable (ResourceRecord) throws -> Bool = { try $0.markAsDownload() },
        tell: @escaping @Sendable (DownloadProgress) -> Void
    ) {
        self.loader = loader
        self.options = options
        self.rate = rate ?? SharedRateLimit(bytesPerSecond: options.bytesPerSecond)
        self.mark = mark
        self.tell = tell
    }

    /// Fetches the missing bytes, and returns once all of them are durable.
    package func run() async throws {
        // The store may have refused a player's bytes a moment ago but accept them now.
        try? await loader.ready()
        await loader.storeAgain()
        guard try mayStore() else { return tell(progress) }
        // Another attempt fetches bytes that could not be stored, for example because the disk was briefly full. If the
        // representation has changed, the attempt fetches it from the start.
        for attempt in 1...Self.maxAttempts {
            do {
                try await fill()
                if loader.look({ $0.known.isHeldWhole || $0.permissions.refusal != nil }) { break }
            } catch let error as VaultError where error.code == .changed && attempt < Self.maxAttempts {
                // The old representation's bytes are removed once the new one has arrived.
            }
        }
        try finish()
    }

    /// Returns false if there is nothing to store.
    private func mayStore() throws -> Bool {
        let (mode, isWhole) = loader.look { ($0.mode, $0.known.isHeldWhole) }
        guard mode == .noStore else { return true }
        guard isWhole else {
            throw VaultError(
                .storage,
                "\(loader.url) cannot be stored in mode no-store; change its mode or the vault's, and try again")
        }
        return false
    }

    private func fill() async throws {
        var isShared = connections > 1
        var opening = try await open(isShared)
        if isShared, loader.isBound {
            // Nothing proves that other connections would deliver bytes of the same representation.
            let reader = opening.reader
            loader.change { $0.removeReader(reader) }
            isShared = false
            opening = try await open(isShared)
        }
        let first = Lane(reader: opening.reader, piece: opening.range ?? 0..<0)
        do {
            try requireEnd()
            if options.requiresMedia, let refusal = loader.pages.refusal(opening.information) { throw refusal }
            try await noteDownload()
            share(beyond: opening, lanes: isShared ? connections : 1)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.run(first) }
                if isShared { for _ in 1..<connections { group.addTask { try await self.run(nil) } } }
                try await group.waitForAll()
            }
        } catch {
            // If no lane has taken over this reader, its fetch would continue for as long as the reader exists.
            loader.change { $0.removeReader(opening.reader) }
            await loader.settle(work.withLock(\.fetches))
            throw error
        }
        await loader.settle(work.withLock(\.fetches))
    }

    /// Records that the resource was requested by name. Storing the missing bytes makes the record durable; if no bytes
    /// are missing, syncs the index instead.
    private func noteDownload() async throws {
        let (loader, mark) = (loader, mark)
        try await loader.pool.run {
            let isPending = try mark(loader.record)
            if isPending, loader.look(\.known.missing.isEmpty) { try loader.store.index.synchronize() }
        }
    }

    /// Opens the range of the first lane. If several lanes share the download, the range is at most one piece.
    private func open(_ isShared: Bool) async throws -> Opening {
        guard isShared else { return try await open(.whole) }
        do {
            return try await open(.closed(first: 0, last: DownloadPlan.minPieceSize - 1))
        } catch let error as VaultError where error.code == .unsatisfiableRange && error.length == 0 {
            // An empty resource has no first piece.
            return try await open(.whole)
        }
    }

    private func open(_ range: RequestedRange) async throws -> Opening {
        try await LoaderOpening(of: loader, range, isDownload: true).run()
    }

    /// Plans the ranges that the first lane's reader does not fetch.
    private func share(beyond opening: Opening, lanes: Int) {
        let (held, length) = loader.look { ($0.known.map.covered, $0.known.information?.length) }
        let begun = opening.range?.upperBound ?? .max
        let missing = length.map { begun < $0 ? held.gaps(in: begun..<$0) : [] } ?? []
        work.withLock { work in
            work.heldBefore = held
            work.plan = DownloadPlan(missing: missing, connections: connections)
            work.lanes = lanes
        }
    }

    // MARK: Lanes

    /// A reader of the download, and the piece that it fetches.
    private struct Lane {
        let reader: ReaderState.ID
        let piece: ByteRange
    }

    /// Fetches pieces until none are left, beginning with `first`, if there is one.
    private func run(_ first: Lane?) async throws {
        var next = first
        while let lane = next ?? takePiece() {
            next = nil
            defer { loader.change { $0.removeReader(lane.reader) } }
            do {
                try await walk(lane)
            } catch let error as VaultError where error.code == .refused && givesUp(lane) {
                return
            }
            // If the store refuses bytes, fetching the remaining pieces would only burden the origin.
            if loader.look({ $0.permissions.refusal != nil }) { return }
        }
    }

    private func takePiece() -> Lane? {
        let piece = work.withLock { work in
            let piece = work.plan.next()
            if piece == nil { work.lanes -= 1 }
            return piece
        }
        guard let piece else { return nil }
        return Lane(reader: loader.update { $0.addReader(piece) }, piece: piece)
    }

    /// Returns the lane's refused piece to the plan if other lanes remain, because some origins refuse a second
    /// connection.
    ///
    /// - Returns: whether the piece was returned, so that this lane can end.
    private func givesUp(_ lane: Lane) -> Bool {
        work.withLock { work in
            guard work.lanes > 1 else { return false }
            work.lanes -= 1
            work.plan.takeBack(lane.piece)
            return true
        }
    }

    private func walk(_ lane: Lane) async throws {
        var cursor = GapCursor(loader, lane.reader, from: lane.piece.lowerBound)
        var waitsForOrigin = false
        while true {
            try await loader.playbackPriority.yieldToPlayers(at: loader.origin.urls.current.url.origin)
            reportProgressIfDue()
            if cursor.position > Self.mostUnbounded { try requireEnd(hasCome: true) }
            if !waitsForOrigin { waitsForOrigin = beginWaitingForOrigin(lane) }
            switch try await cursor.next(noting: note) {
            case .ended: return reportArrival()
            case .waited: break
            case .passed(let bytes, let isNew):
                if isNew { work.withLock { $0.hasReceived = true } }
                try await keepToRate(bytes)
            }
        }
    }

    /// The maximum number of bytes fetched from a resource of unknown length. It is more than any film has.
    private static let mostUnbounded: Int64 = 256 << 30

    /// Throws if the resource never ends. A resource of unknown length is taken for endless if it is a web radio, or if
    /// it has sent more than any film has.
    private func requireEnd(hasCome hasMuchCome: Bool = false) throws {
        let isEndless = loader.look { $0.known.information?.length == nil && ($0.known.isEndless || hasMuchCome) }
        guard isEndless else { return }
        throw VaultError(
            .invalidArgument, "\(loader.url) is a live stream, such as a web radio, and never ends: only play it")
    }

    /// Lets the lane wait for a failing origin, but only once the origin has sent something.
    ///
    /// If the origin has never sent anything, the download fails at once instead.
    ///
    /// - Returns: whether the lane now waits for the origin.
    private func beginWaitingForOrigin(_ lane: Lane) -> Bool {
        guard work.withLock(\.hasReceived) else { return false }
        loader.update { $0.begin(lane.reader, isDownload: true) }
        return true
    }

    private func note(_ fetch: FetchState.ID) { work.withLock { _ = $0.fetches.insert(fetch) } }

    /// Delays the lane so that bytes that were not held before arrive no faster than the rate limit allows.
    private func keepToRate(_ passed: ByteRange) async throws {
        let new = work.withLock { $0.heldBefore.gaps(in: passed).reduce(0) { $0 + $1.length } }
        try await rate.take(new)
    }

    // MARK: Progress

    private func reportProgressIfDue() {
        let isDue = work.withLock { work in
            guard work.lastReport.map({ .now - $0 >= Self.interval }) ?? true else { return false }
            work.lastReport = .now
            return true
        }
        if isDue { tell(progress) }
    }

    /// Reports progress if everything has arrived, so that the caller can begin something else while the bytes become
    /// durable.
    private func reportArrival() {
        let progress = progress
        if progress.isComplete { tell(progress) }
    }

    /// Requires that every byte is held and that the end is known. If not, throws an error that contains the store's
    /// reason for refusing bytes.
    private func finish() throws {
        let (isWhole, covered, length, failure) = loader.look {
            ($0.known.isHeldWhole, $0.known.map.covered, $0.known.information?.length, $0.permissions.storeFailure)
        }
        guard !isWhole else { return tell(progress) }
        let missing = length.map { covered.gaps(in: 0..<$0) } ?? []
        let what = length == nil ? "the rest" : "\(missing.reduce(0) { $0 + $1.length }) bytes"
        var error = VaultError(
            failure?.code ?? .storage,
            "\(what) of \(loader.url) could not be stored: \(failure?.message ?? "the store refused")")
        error.firstMissing = missing.first?.lowerBound ?? covered.gaps(in: 0..<Int64.max).first?.lowerBound
        throw error
    }

    private var connections: Int { options.connections ?? 1 }

    var progress: DownloadProgress {
        loader.look { state in
            var held = state.known.map.covered
            for fetch in state.fetches.values where fetch.isStoring {
                held.insert(contentsOf: fetch.start..<fetch.present)
            }
            return DownloadProgress(
                held: held.byteCount, total: state.known.information?.length, type: state.known.information?.type,
                manifest: ManifestDetection.kind(type: state.known.information?.type, path: loader.url.path),
                resources: nil)
        }
    }
}
