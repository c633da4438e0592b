import VaultFetch
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
        try await withThrowingTaskGroup(of: FeedAnswer?.self) { group in
            group.addTask { try await readWithoutLimit(url) }
            group.addTask {
                try await Task.sleep(for: timeLimit)
                return nil
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next() ?? nil else {
                throw VaultError(
                    .unreachable, "\(url) did not send the whole feed within \(timeLimit); try again later")
            }
            return answer
        }
    }

    private func readWithoutLimit(_ url: MediaURL) async throws -> FeedAnswer {
        guard environment.mode.current.allowsRequests else {
            throw VaultError(.notHeld, "the mode of the vault allows no requests, so \(url) was not read; go online")
        }
        let reference = try MediaReference(url).settled()
        let request = OriginRequest(url: reference.url, fields: reference.fields)
        do {
            let response = try await environment.origin.send(request)
            defer { response.cancel() }
            let content = try ResponseCheck.judge(response.head, asked: request).content
            guard content.length ?? 0 <= Int64(Feed.maxBytes) else { throw Self.error(.tooLarge, reference.url) }
            let bytes = try await body(of: response, reference.url)
            let base = response.head.location ?? reference.url
            let feed: Feed
            do {
                // Parsing megabytes takes seconds.
                feed = try await environment.pool.run { try Feed(bytes, at: base) }
            } catch let error as FeedError {
                throw Self.error(error, reference.url)
            }
            return FeedAnswer(
                feed: feed, url: url,
                reach: TitleReach(
                    named: reference.url, base: base, isDerived: false,
                    fields: OriginFields(reference.fields, for: reference.url)))
        } catch let failure as OriginFailure {
            environment.originErrors.count(failure)
            throw FetchFailure.origin(failure).vaultError(for: reference.url, at: 0)
        }
    }

    private func body(of response: any OriginResponse, _ url: MediaURL) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let more = try await response.nextBytes() {
            bytes += more
            guard bytes.count <= Feed.maxBytes else { throw Self.error(.tooLarge, url) }
        }
        return bytes
    }

    private static func error(_ error: FeedError, _ url: MediaURL) -> VaultError {
        VaultError(
            .invalidResponse,
            "\(url) cannot be used as a feed: \(error), so nothing was fetched or removed; check the URL")
    }
}

extension FeedError {
    /// The error of a feed with too many bytes.
    fileprivate static var tooLarge: FeedError { .markup(.tooLarge(limit: Feed.maxBytes)) }
}
