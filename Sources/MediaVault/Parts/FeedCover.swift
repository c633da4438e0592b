import VaultCache
import VaultModel
import VaultStorage

/// Sets the cover that a title's feed names, once the title's media are held.
struct FeedCover: Sendable {
    let environment: LoaderEnvironment
    let pictures: FeedPictures
    /// The picture. It is requested like the feed itself if it is at the feed's own origin, otherwise only at public
    /// addresses.
    let picture: MediaReference

    /// The time limit for fetching the whole picture.
    private static let timeLimit: Duration = .seconds(20)

    /// Stores the picture as the cover of a title that has none, neither one that was set nor one in its media.
    ///
    /// If the picture cannot be fetched or stored, the title stays without a cover, which is not an error.
    ///
    /// - Throws: `CancellationError` if the task was cancelled.
    func give(to loader: ResourceLoader) async throws {
        let record = loader.record
        guard loader.store.isOwner, record.lacksCover,
            case let mode = loader.mode, mode.allowsRequests, mode.stores
        else { return }
        guard !pictures.isSlow(picture.url.authority) else { return }
        guard let found = try await pictures.picture(at: picture, fetch: { try await fetch() }) else { return }
        try? await loader.pool.run { try record.setFeedCover(found.bytes) }
    }

    private func fetch() async throws -> Picture? {
        let request = OriginRequest(url: picture.url, fields: picture.fields, reach: picture.reach)
        do {
            let answer = try await BufferedAnswer.read(
                request, upTo: ResourceMetadata.maxCoverBytes, within: Self.timeLimit, from: environment.origin)
            return Picture(answer.bytes)
        } catch let failure as OriginFailure {
            environment.originErrors.count(failure)
            return nil
        } catch let refusal as BufferedAnswer.Refusal {
            if refusal == .tooSlow { pictures.noteSlow(picture.url.authority) }
            return nil
        }
    }
}
