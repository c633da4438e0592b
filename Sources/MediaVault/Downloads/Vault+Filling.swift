import VaultManifest
import VaultModel
import VaultStorage

extension Vault {
    /// How often progress is told.
    private static let interval: Duration = .milliseconds(100)

    /// Fetches what is missing of a resource; returns when all of it is durable.
    func fill(_ reference: MediaReference, progress: @Sendable (DownloadProgress) -> Void) async throws {
        let (loader, lease) = try use(reference)
        defer { withExtendedLifetime(lease) {} }
        // What a player was refused a moment ago may be taken now.
        try? await loader.ready()
        await loader.storeAgain()
        // What was lost on the way, to a disk that was full for a moment say, is fetched once more.
        for _ in 0..<Self.mostPasses {
            try await pass(loader, progress)
            if loader.look({ $0.missing.isEmpty || $0.refusal != nil }) { break }
        }
        try finish(loader, progress)
    }

    private static let mostPasses = 3

    private func pass(_ loader: ResourceLoader, _ progress: @Sendable (DownloadProgress) -> Void) async throws {
        let opening = try await loader.open(.whole)
        let record = loader.record
        var fetches: Set<FetchState.ID> = []
        do {
            try await loader.pool.run { try record.becomeDownload() }
            try await walk(loader, opening, &fetches, progress)
        } catch {
            loader.change { $0.removeReader(opening.reader) }
            await loader.settle(fetches)
            throw error
        }
        loader.change { $0.removeReader(opening.reader) }
        await loader.settle(fetches)
    }

    private func walk(
        _ loader: ResourceLoader, _ opening: Opening, _ fetches: inout Set<FetchState.ID>,
        _ progress: @Sendable (DownloadProgress) -> Void
    ) async throws {
        var position = opening.range?.lowerBound ?? 0
        var failures = 0
        var lastTold: ContinuousClock.Instant?
        while true {
            if lastTold.map({ .now - $0 >= Self.interval }) ?? true {
                progress(Self.progress(loader))
                lastTold = .now
            }
            let step = loader.step(opening.reader)
            if let fetch = loader.look({ $0.readers[opening.reader]?.fetch }) { fetches.insert(fetch) }
            // A player goes on without the store; a download has nothing to go on for.
            if loader.look({ $0.bypass(opening.reader) }) != nil { return }
            switch step {
            case .finished: return
            case .take(let bytes):
                position += Int64(bytes.count)
                failures = 0
                loader.change { $0.advance(opening.reader, to: position) }
            case .open(_, let run):
                position = run.upperBound
                loader.change { $0.advance(opening.reader, to: position) }
            case .wait, .fetch: try await loader.waitForWake(opening.reader)
            case .changed: throw MediaReader.changed(url(of: loader), position)
            case .hole(_, let isDamage): throw MediaReader.hole(at: position, isDamage: isDamage)
            case .failed(let failure):
                failures += 1
                guard let delay = RetryPolicy.delay(after: failure, tries: failures) else {
                    throw failure.vaultError(for: url(of: loader), at: position)
                }
                try await Task.sleep(for: delay)
            }
        }
    }

    /// What came must be held now; where the store refused, the download says why.
    private func finish(_ loader: ResourceLoader, _ progress: @Sendable (DownloadProgress) -> Void) throws {
        let (missing, failure) = loader.look { ($0.missing, $0.storeFailure) }
        guard let first = missing.first else {
            progress(Self.progress(loader))
            return
        }
        let count = missing.reduce(0) { $0 + $1.length }
        var error = VaultError(
            failure?.code ?? .storage,
            "\(count) bytes of \(url(of: loader)) could not be stored: \(failure?.message ?? "the store refused")")
        error.firstMissing = first.lowerBound
        throw error
    }

    private func url(of loader: ResourceLoader) -> MediaURL { loader.url }

    private static func progress(_ loader: ResourceLoader) -> DownloadProgress {
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
