import VaultModel
import VaultStorage

/// The cover that a title gets from its feed, as soon as its media are held.
struct FeedCover: Sendable {
    let loaders: LoaderTable
    /// The picture: requested as the feed itself may be if it is at the feed's own origin, else at public addresses only.
    let picture: MediaReference

    /// The longest that it may take, however slowly its bytes come.
    private static let timeLimit: Duration = .seconds(20)

    /// Gives the picture to a title that has none, neither given nor in its media.
    ///
    /// A picture is no reason to fail: what cannot be had or kept is left out.
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
