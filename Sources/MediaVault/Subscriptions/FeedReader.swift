import VaultCache
import VaultFetch
import VaultManifest
import VaultModel

/// Reads feeds from their origins over the vault's own transport. It follows a feed that has moved, reads as many pages
/// as needed, and stores nothing.
struct FeedReader: Sendable {
    let environment: LoaderEnvironment

    /// The time limit for reading a whole page.
    var timeLimit: Duration = .seconds(120)
    /// The time limit for reading all pages.
    private static let totalTime: Duration = .seconds(600)
    /// The maximum number of pages to read of a feed.
    static let maxPages = 500
    /// The maximum number of announced moves to follow in one run.
    private static let maxMoves = 3

    /// Reads a feed.
    ///
    /// - Parameters:
    ///   - url: the feed's URL, as the operator gave it.
    ///   - newest: the number of titles wanted, which limits how many pages are read; nil for all titles.
    ///   - movedTo: the permanent new address found by an earlier run. If no feed is there any more, `url` is
    ///     requested.
    /// - Throws: ``VaultError`` with code `unreachable`; `refused`; `invalidResponse` if the response is not a feed;
    ///   `notHeld` if the mode allows no requests.
    func read(_ url: MediaURL, newest: Int? = nil, movedTo: MediaURL? = nil) async throws -> FeedAnswer {
        guard environment.mode.current.allowsRequests else {
            throw VaultError(.notHeld, "the mode of the vault allows no requests, so \(url) was not read; go online")
        }
        let named = try MediaReference(url).settled()
        let first = try await beginning(of: named, movedTo)
        var answer = FeedAnswer(
            feed: first.feed, url: url, movedTo: first.movedTo,
            reach: TitleReach(
                named: named.url, base: first.location, isDerived: false,
                fields: OriginFields(named.fields, for: named.url)),
            failure: first.loss)
        try await readOn(&answer, newest, upTo: Feed.maxBytes - first.byteCount)
        return answer
    }

    // MARK: Location

    /// Reads the feed's first page from its current address.
    ///
    /// A new address is accepted only if a feed with entries is there. Otherwise anyone on the network path could
    /// redirect the feed to an empty one.
    private func beginning(of named: MediaReference, _ known: MediaURL?) async throws -> Page {
        var page = try await firstPage(of: named, known)
        var asked: Set = [named.url, page.location, page.movedTo ?? named.url]
        for _ in 0..<Self.maxMoves {
            guard let next = page.feed.newLocation, asked.insert(next).inserted,
                next.scheme == "https" || named.url.scheme == "http",
                var there = try? await self.page(moved(named, to: next)), !there.feed.entries.isEmpty
            else { break }
            there.movedTo = there.movedTo ?? next
            page = there
            asked.insert(page.location)
        }
        if page.feed.entries.isEmpty { page.movedTo = nil }
        return page
    }

    /// Reads the first page from the feed's last known address, or from the operator's URL if the feed is no longer at
    /// that address.
    ///
    /// - Throws: the error from the known address if that error may be temporary, because the feed may then still be
    ///   there.
    private func firstPage(of named: MediaReference, _ known: MediaURL?) async throws -> Page {
        guard let known else { return try await page(named) }
        let failure: VaultError
        do {
            var there = try await page(moved(named, to: known))
            if !there.feed.entries.isEmpty {
                there.movedTo = there.movedTo ?? known
                return there
            }
            failure = VaultError(.invalidResponse, "\(known) names no title any more")
        } catch let error as VaultError where error.code == .invalidResponse || Self.isGone(error) {
            failure = error
        }
        do {
            var page = try await page(named)
            page.loss = VaultError(
                .invalidResponse,
                "no feed is at \(known) any more, so \(named.url) was read; the next run takes it as it is")
            return page
        } catch let error as VaultError where !Self.isGone(failure) && Self.isGone(error) {
            throw failure
        }
    }

    private static func isGone(_ error: VaultError) -> Bool { [404, 410].contains(error.originStatus) }

    /// Returns the reference by which to request a feed's new address, treated like the target of a redirect.
    private func moved(_ named: MediaReference, to url: MediaURL) -> MediaReference {
        var reference = MediaReference(url, fields: url.origin == named.url.origin ? named.fields : HeaderFields())
        reference.isDerived = !RedirectPolicy.isAtAuthority(of: named.url, url)
        return reference
    }

    // MARK: Pages

    /// Reads as many pages after the first one as are wanted, and stops at a page that cannot be read.
    ///
    /// All pages of a feed must be at its own origin. If a page links back to an earlier one, or has no new entries, a
    /// cache or a failing origin may have sent it in place of the requested page, whose entries then stay unknown.
    ///
    /// - Parameter limit: the maximum number of bytes of these pages together.
    private func readOn(_ answer: inout FeedAnswer, _ newest: Int?, upTo limit: Int) async throws {
        let (first, end) = (answer.reach.base, ContinuousClock.now + Self.totalTime)
        var left = limit
        var number = 1
        var seen: Set = [first]
        var known = Set(answer.feed.entries.map(\.url))
        defer { answer.feed.complete() }
        while let url = answer.feed.next, newest.map({ known.count < $0 }) ?? true {
            guard seen.insert(url).inserted else {
                answer.failure = answer.failure ?? Self.doubt(of: number, "leads back to one before it")
                return
            }
            number += 1
            do {
                guard number <= Self.maxPages, ContinuousClock.now < end else {
                    throw Self.unusable("there are too many; take the newest titles alone")
                }
                guard url.origin == first.origin else {
                    throw Self.unusable("it is at another origin; ask the publisher")
                }
                let page = try await page(answer.reach.reference(to: url), upTo: left, within: end - .now)
                left -= page.byteCount
                guard page.location.origin == first.origin else {
                    throw Self.unusable("it leads to another origin; ask the publisher")
                }
                seen.insert(page.location)
                if try !answer.feed.append(page.feed, to: &known) {
                    answer.failure = answer.failure ?? Self.doubt(of: number, "names nothing new")
                }
                answer.feed.next = page.feed.next
            } catch {
                let tooMany = (error as? FeedError).map { Self.unusable("\($0); take the newest titles alone") }
                guard var failure = tooMany ?? error as? VaultError else { throw error }
                // Keep the error's other fields, such as the delay that the origin requested.
                failure.message = "page \(number) of the feed was not read: \(failure.message)"
                answer.failure = failure
                return
            }
        }
    }

    private static func unusable(_ cause: String) -> VaultError { VaultError(.invalidResponse, cause) }

    private static func doubt(of number: Int, _ cause: String) -> VaultError {
        unusable("page \(number) of the feed \(cause); if that stays so, ask the publisher")
    }

    /// One document of a feed.
    private struct Page {
        let feed: Feed
        let byteCount: Int
        /// The URL from which the page was received.
        let location: MediaURL
        /// The permanent new address of the page; nil if it has not moved.
        var movedTo: MediaURL?
        /// Why the page may lack entries that the known address had; nil if it does not.
        var loss: VaultError?
    }

    private func page(
        _ given: MediaReference, upTo bytes: Int = Feed.maxBytes, within time: Duration = totalTime
    ) async throws -> Page {
        let reference = try given.settled()
        let limit = min(timeLimit, time)
        do {
            let answer = try await answer(
                to: OriginRequest(url: reference.url, fields: reference.fields, reach: reference.reach), upTo: bytes,
                within: limit)
            // Parsing megabytes takes seconds, so it runs on the pool.
            let feed = try await environment.pool.run { try Feed(answer.bytes, type: answer.type, at: answer.location) }
            return Page(
                feed: feed, byteCount: answer.bytes.count, location: answer.location, movedTo: answer.movedTo)
        } catch BufferedAnswer.Refusal.tooSlow {
            throw VaultError(
                .unreachable, "\(reference.url) did not send the whole feed within \(limit); try again later")
        } catch BufferedAnswer.Refusal.tooLarge {
            throw Self.error(.tooLarge(limit: bytes), reference.url)
        } catch let error as FeedError {
            throw Self.error(error, reference.url)
        } catch let failure as OriginFailure {
            if case .refused(status: 410, _) = failure.kind { throw Self.gone(reference.url) }
            throw FetchFailure.origin(failure).vaultError(for: reference.url, at: 0)
        }
    }

    /// Requests a feed. As for any other file, it retries if the origin states when a retry will help.
    private func answer(
        to request: OriginRequest, upTo bytes: Int, within limit: Duration
    ) async throws -> BufferedAnswer {
        var schedule = RetrySchedule(environment.retry)
        let since = ContinuousClock.now
        while true {
            do {
                return try await BufferedAnswer.read(
                    request, upTo: bytes, within: limit, from: environment.origin)
            } catch let failure as OriginFailure {
                environment.originErrors.count(failure)
                guard case .refused(_, _?) = failure.kind else { throw failure }
                let now = ContinuousClock.now
                schedule.failed(.origin(failure), now: now, chance: .random(in: 0...1))
                let advice = schedule.advice(
                    after: .origin(failure), patience: environment.retry.patience, since: since, now: now)
                switch advice {
                case .ask: continue
                // If the delay exceeds the patience, the schedule's wait would end before the time that the origin
                // requested.
                case .wait(let until) where until < since + environment.retry.patience:
                    try await Task.sleep(until: until, clock: .continuous)
                case .wait, .giveUp: throw failure
                }
            }
        }
    }

    private static func gone(_ url: MediaURL) -> VaultError {
        var error = VaultError(
            .refused,
            "\(url) is gone for good (HTTP 410): follow its new URL; a subscription keeps its titles, and is not asked "
                + "again by itself")
        error.originStatus = 410
        return error
    }

    private static func error(_ error: FeedError, _ url: MediaURL) -> VaultError {
        VaultError(
            .invalidResponse,
            "\(url) cannot be used as a feed: \(error); " + (error.remedy ?? "check the URL"))
    }
}
