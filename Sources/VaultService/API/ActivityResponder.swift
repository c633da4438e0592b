import Logging
import MediaVault
import VaultModel

/// Answers requests for the current playbacks, and for the figures of the last hour.
struct ActivityResponder: Sendable {
    let vault: Vault
    let playbacks: Playbacks
    let metrics: ServiceMetrics
    private let history = FigureHistory()

    /// Returns the figures of the last hour.
    func showHistory() -> HistoryDocument {
        HistoryDocument(every: FigureHistory.every, samples: history.samples)
    }

    /// Returns the titles that are being played from the vault. The parts of a title count as one playback.
    func showPlaybacks() async throws -> PlaybacksDocument {
        let found = try await playbacksByTitle()
        var documents: [PlaybackDocument] = []
        for (place, playback) in found {
            // A title that was removed during playback is omitted.
            guard let summary = try? await vault.titles.summary(of: place.title) else { continue }
            let (holder, name) = describe(place.holder)
            documents.append(
                PlaybackDocument(
                    id: summary.id, name: summary.name,
                    url: summary.url, holder: holder,
                    holderName: name, began: Timestamp(seconds: playback.began),
                    last: Timestamp(seconds: playback.last), open: playback.open))
        }
        return PlaybacksDocument(
            playbacks: documents.sorted {
                ($1.last, $0.url, $0.holderName ?? "") < ($0.last, $1.url, $1.holderName ?? "")
            })
    }

    private struct Place: Hashable {
        let holder: Playbacks.Holder
        let title: ResourceID
    }

    private func playbacksByTitle() async throws -> [Place: Playbacks.Playback] {
        var titles: [ResourceID: [ResourceID]] = [:]
        var found: [Place: Playbacks.Playback] = [:]
        for playback in playbacks.all(at: vault.now) {
            let id = playback.resource.id
            if titles[id] == nil { titles[id] = try await vault.titles.containing(id) }
            let all = titles[id] ?? []
            var title = all.first ?? id
            // A part can belong to several titles. A viewer's link names the one that the viewer plays.
            if let viewed = playback.title, all.count > 1 {
                for other in all where try await vault.titles.titleID(of: other) == viewed { title = other }
            }
            let place = Place(holder: playback.holder, title: title)
            found[place] = found[place].map { $0.joined(with: playback) } ?? playback
        }
        return found
    }

    private func describe(_ holder: Playbacks.Holder) -> (PlaybackDocument.Holder, String?) {
        switch holder {
        case .viewer(let id): return (.viewer, vault.viewers.viewer(id)?.name)
        case .unknown: return (.unknown, nil)
        case .grant(let id):
            guard let grant = vault.access.grant(id) else { return (.unknown, nil) }
            let kind: PlaybackDocument.Holder =
                switch grant.kind.family {
                case .tokens: .token
                case .links: .link
                case .sessions: .session
                }
            return (kind, grant.name)
        }
    }

    /// Adds the current figures to the history at a fixed interval, until the task is cancelled.
    func keepHistory(_ logger: Logger) async {
        while !Task.isCancelled {
            do {
                history.add(try await sample())
            } catch {
                // A vault that is locked or closing provides no figures.
                logger.debug("no figures", metadata: ["reason": "\(type(of: error))"])
            }
            try? await Task.sleep(for: .seconds(FigureHistory.every))
        }
    }

    /// Returns the current figures.
    func sample() async throws -> HistoryDocument.Sample {
        let status = try await vault.status()
        let now = vault.now
        let playing = try await playbacksByTitle()
        return HistoryDocument.Sample(
            time: Timestamp(seconds: now), fetched: status.bytesFetched, served: metrics.servedBytes,
            held: status.bytes, downloads: status.downloads.running, playbacks: playing.count)
    }
}

/// The main figures of a service over the last hour, kept in memory, for the charts of its pages.
final class FigureHistory: Sendable {
    /// The number of seconds between two samples.
    static let every = 15
    /// The maximum number of samples, which cover one hour.
    static let maxCount = 3600 / every

    private let kept = Locked<[HistoryDocument.Sample]>([])

    /// The samples, earliest first.
    var samples: [HistoryDocument.Sample] { kept.withLock(\.self) }

    /// Adds a sample, and drops the earliest if there are too many.
    func add(_ sample: HistoryDocument.Sample) {
        kept.withLock { $0 = $0.suffix(Self.maxCount - 1) + [sample] }
    }
}
