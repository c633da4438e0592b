import VaultFetch
import VaultModel
import VaultStorage

/// Checks with the origin whether the representation that a loader knows is still current.
package struct RepresentationCheck: Sendable {
    let loader: ResourceLoader
    private var origin: OriginSession { loader.origin }

    /// Makes sure that the known representation may be served, asking the origin once if it is stale.
    ///
    /// - Parameter position: the offset of the first byte wanted; nil if the request is not for bytes.
    /// - Throws: ``VaultError`` with code `refused` if the origin refuses and had demanded that each use be confirmed;
    ///   `CancellationError`.
    func revalidateIfStale(at position: @autoclosure () -> Int64?) async throws -> RevalidationOutcome {
        let now = loader.store.index.now()
        guard loader.look({ $0.known.isStale(now: now) }) else { return RevalidationOutcome() }
        let first = position()
        switch loader.look({ $0.staleStep(at: first) }) {
        case .open: return RevalidationOutcome()
        case .stale(let reason): return RevalidationOutcome(staleness: reason)
        case .ask: break
        }
        // Do not wait for an origin that could not be reached a moment ago.
        if origin.contact.verdict(now: .now) == false { return RevalidationOutcome(staleness: .unreachable) }
        // A resource with gaps requests bytes anyway, which will show whether it has changed. So wait only briefly for
        // it, unless the origin demands that each use be confirmed.
        let isStrict = loader.look { $0.known.freshness?.isStrict } ?? false
        let waitsLong = isStrict || loader.look { state in state.known.missing.isEmpty }
        let policy = loader.retryPolicy
        let patience = waitsLong ? policy.revalidationTimeLimit : policy.staleTimeLimit
        let (verdict, isNew) = try await origin.revalidator.verdict(within: patience) { await revalidate() }
        switch verdict {
        case .confirmed(let status): return RevalidationOutcome(originStatus: isNew ? status : nil)
        case .changed: return RevalidationOutcome()
        case .stale(let reason, let status):
            return RevalidationOutcome(staleness: reason, originStatus: isNew ? status : nil)
        case .refused(let failure):
            guard isStrict else {
                return RevalidationOutcome(staleness: .refused, originStatus: isNew ? failure.refusalStatus : nil)
            }
            throw FetchFailure.origin(failure).vaultError(for: loader.url, at: first ?? 0)
        }
    }

    /// Returns whether the origin is reachable; nil if it has not answered in time.
    ///
    /// The request continues in the background, where it will notice a changed representation.
    func reachOrigin(within patience: Duration) async throws -> Bool? {
        if let known = origin.contact.verdict(now: .now) { return known }
        switch try await verdict(within: patience) {
        case .stale(.unreachable, _): return false
        case .stale(.slow, _): return nil
        // The origin answered, even if only to refuse. Whether it has the missing bytes will show when they are
        // requested.
        case .confirmed, .changed, .stale, .refused: return true
        }
    }

    /// Returns whether the origin confirms that it still provides the resource, or another version of it. A recent
    /// answer does not count, because the network may have gone since then.
    package func isProvided(within patience: Duration) async throws -> Bool {
        guard origin.contact.verdict(now: .now) != false else { return false }
        switch try await verdict(within: patience) {
        case .confirmed, .changed, .stale(.unverifiable, _): return true
        case .stale, .refused: return false
        }
    }

    private func verdict(within patience: Duration) async throws -> Revalidation.Verdict {
        try await origin.revalidator.verdict(within: patience, inconclusiveLifetime: OriginReachability.doubted) {
            await revalidate()
        }.verdict
    }

    private func revalidate() async -> Revalidation.Verdict {
        do {
            let verdict = try await askOriginIfSame()
            origin.contact.note(isReachable: true, now: .now)
            return verdict
        } catch let failure as OriginFailure {
            origin.contact.note(isReachable: failure.kind != .unreachable, now: .now)
            origin.errors.count(failure)
            switch failure.kind {
            case .unreachable, .interrupted: return .stale(.unreachable)
            case .invalidResponse: return .stale(.invalidResponse)
            case .refused:
                return failure.isFinal ? .refused(failure) : .stale(.refused, status: failure.refusalStatus)
            }
        } catch {
            return .stale(.unreachable)
        }
    }

    /// Asks the origin whether it still has the known representation.
    ///
    /// If the origin has another one, that representation begins. Because some origins answer HEAD carelessly, an
    /// answer to HEAD that would discard held bytes is checked with a GET of the first byte.
    private func askOriginIfSame() async throws -> Revalidation.Verdict {
        if let imported = loader.information, imported.isImported {
            if let verdict = try await compareImport(imported) { return verdict }
            return try await askOriginIfSame(by: .get, isOther: true)
        }
        guard origin.contact.answersHead else { return try await askOriginIfSame(by: .get) }
        do {
            let verdict = try await origin.contact.within(loader.retryPolicy.headTimeLimit) {
                try await askOriginIfSame(by: .head)
            }
            if verdict != .changed { return verdict }
        } catch is OriginReachability.TooSlow {
            origin.contact.noteSilenceToHead()
        } catch let failure as OriginFailure where Self.mayAffectHeadAlone(failure) {
            // GET may get another answer.
        }
        return try await askOriginIfSame(by: .get)
    }

    /// Asks the origin with one method. An answer to HEAD changes nothing but the freshness.
    ///
    /// - Parameter isOther: whether the origin is already known to have another representation.
    private func askOriginIfSame(
        by method: OriginRequest.Method, isOther: Bool = false
    ) async throws -> Revalidation.Verdict {
        let validators = loader.known?.validators
        let asked = loader.store.index.now()
        // An answer that would replace a manifest is read whole first, so request more than one byte.
        let wantsByte = method == .get && !loader.holdsManifest
        let exchange = try await origin.ask { url in
            let end: Int64? = wantsByte ? 1 : nil
            return OriginRequest(
                url: url, method: method, first: end.map { $0 - 1 }, end: end, ifChangedFrom: validators)
        }
        guard let (request, response) = exchange else { return .stale(.unreachable) }
        defer { response.cancel() }
        let review = AnswerReview(
            loader: loader, answer: response.head.dated(loader.store.index.now()), body: PeekableBody(response),
            asked: request, isOther: isOther)
        if method == .get { try await review.awaitBeginning() }
        return try await loader.answers.exclusively {
            guard let information = loader.known, information.validators == validators else {
                // Another answer changed the state meanwhile.
                return .changed
            }
            switch try await review.decide() {
            case .same:
                guard loader.known?.validators != Validators() else {
                    return .stale(.unverifiable, status: response.head.status)
                }
                loader.confirm(by: loader.heard(review.answer), asked: asked)
                return .confirmed(status: response.head.status)
            case .refuse(let failure):
                // GET may get another answer.
                guard method == .get, failure.kind == .invalidResponse else { throw failure }
                origin.errors.count(failure)
                return .stale(.invalidResponse, status: response.head.status)
            case .askAgain: return .changed
            case .other(let content, _):
                guard method == .get else { return .changed }
                let head = loader.heard(review.answer)
                try await loader.begin(
                    ResponseCheck.information(of: head, asked: request, content: content),
                    Freshness(head.fields, asked: asked), from: request.url, keeping: nil)
                return .changed
            }
        }
    }

    private static func mayAffectHeadAlone(_ failure: OriginFailure) -> Bool {
        switch failure.kind {
        case .refused(let status, _): status == 501 || (status < 500 && status != 429)
        // Some origins close the connection on HEAD, or answer it with an invalid head.
        case .interrupted, .invalidResponse: true
        case .unreachable: false
        }
    }
}
