import VaultModel
import VaultStorage

/// The cover that a title gets from its feed once its media are held.
struct FeedCover: Sendable {
    let loaders: LoaderTable
    /// The picture: requested like the feed itself if it is at the feed's own origin, else only at public addresses.
    let picture: MediaReference

    /// The maximum time for the picture, however slowly its bytes arrive.
    private static let timeLimit: Duration = .seconds(20)

    /// Gives the picture to a title that has no cover, neither set nor in its media.
    ///
    /// A picture is no reason to fail: one that cannot be fetched or stored is left out.
    ///
    /// - Throws: `CancellationError`.
    func give(to loader: ResourceLoader) async throws {
        let record = loader.record
        guard loader.store.isOwner, record.lacksCover,
            loader.look({ $0.mode.allowsRequests && $0.mode.stores })
        else { return }
        guard !loaders.feedPictures.isSlow(picture.url.authority) else { return }
        guard let found = try await loaders.feedPictures.picture(at: picture, fetch: { try await fetch() }) else {
            return
        }
        try? await loader.pool.run { try record.setFeedCover(found.bytes) }
    }

    private func fetch() async throws -> Picture? {
        let request = OriginRequest(url: picture.url, fields: picture.fields, reach: picture.reach)
        let environment = loaders.environment
        do {
            let answer = try await BufferedAnswer.read(
                request, upTo: ResourceMetadata.maxCoverBytes, within: Self.timeLimit, from: environment.origin)
            return Picture(answer.bytes)
        } catch let failure as OriginFailure {
            environment.originErrors.count(failure)
            return nil
        } catch let refusal as BufferedAnswer.Refusal {
            if refusal == .tooSlow { loaders.feedPictures.noteSlow(picture.url.authority) }
            return nil
        }
    }
}
