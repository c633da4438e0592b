import VaultManifest
import VaultModel

/// Reads feeds from their origins, by the vault's own transport. Nothing of them is stored.
struct FeedReader: Sendable {
    let environment: LoaderEnvironment

    /// The longest that reading may take, however slowly its bytes come.
    var timeLimit: Duration = .seconds(120)

    /// Reads a feed.
    ///
    /// - Throws: ``VaultError``: `unreachable`, `refused`, `invalidResponse` if it is no feed, `notHeld` if the mode
    ///   allows no requests.
    func read(_ url: MediaURL) async throws -> FeedAnswer {
        guard environment.mode.current.allowsRequests else {
            throw VaultError(.notHeld, "the mode of the vault allows no requests, so \(url) was not read; go online")
        }
        let reference = try MediaReference(url).settled()
        do {
            let answer = try await WholeAnswer.read(
                OriginRequest(url: reference.url, fields: reference.fields), upTo: Feed.maxBytes, within: timeLimit,
                from: environment.origin)
            // Parsing megabytes takes seconds.
            let feed = try await environment.pool.run { try Feed(answer.bytes, type: answer.type, at: answer.location) }
            return FeedAnswer(
                feed: feed, url: url,
                reach: TitleReach(
                    named: reference.url, base: answer.location, isDerived: false,
                    fields: OriginFields(reference.fields, for: reference.url)))
        } catch WholeAnswer.Refusal.tooSlow {
            throw VaultError(.unreachable, "\(url) did not send the whole feed within \(timeLimit); try again later")
        } catch WholeAnswer.Refusal.tooLarge {
            throw Self.error(.tooLarge(limit: Feed.maxBytes), reference.url)
        } catch let error as FeedError {
            throw Self.error(error, reference.url)
        } catch let failure as OriginFailure {
            environment.originErrors.count(failure)
            throw FetchFailure.origin(failure).vaultError(for: reference.url, at: 0)
        }
    }

    private static func error(_ error: FeedError, _ url: MediaURL) -> VaultError {
        VaultError(
            .invalidResponse,
            "\(url) cannot be used as a feed: \(error), so nothing was fetched or removed; check the URL")
    }
}
