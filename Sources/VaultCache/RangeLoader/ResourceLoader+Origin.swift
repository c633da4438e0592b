import VaultFetch
package import VaultModel
import VaultStorage

extension ResourceLoader {
    /// Sends a request to the current URL.
    ///
    /// If the origin refuses a URL with 401, 403 or 410, as it does for expired signed URLs, the other known URLs are
    /// tried, then a new one from the vault's refresher.
    ///
    /// - Returns: nil if nothing needs to be requested any more.
    package func ask(
        for makeRequest: (MediaURL) -> OriginRequest?
    ) async throws -> (request: OriginRequest, response: any OriginResponse)? {
        while true {
            let (url, fields, reach) = urls.current
            guard var request = makeRequest(url) else { return nil }
            request.fields = fields?.sent(to: url) ?? HeaderFields()
            request.reach = reach
            if let answered = takeAnswer(to: request) { return answered }
            let response = try await origin.send(request)
            let status = response.head.status
            guard RefusedLink.statuses.contains(status) else {
                urls.grant(url)
                return (request, response)
            }
            let refused = (url, fields, reach)
            if !urls.refuse(refused), await !refresh(refused, status) {
                guard Task.isCancelled else { return (request, response) }
                // A caller that left while the refresher was working must not get the refusal.
                response.cancel()
                throw CancellationError()
            }
            response.cancel()
        }
    }

    /// Finds a new link to replace one that the origin refused; returns whether an untried link remains.
    private func refresh(_ refused: OriginURLs.Source, _ status: Int) async -> Bool {
        let (key, urls) = (record.key, urls)
        guard let refresher,
            let link = RefusedLink(contentID: key.contentID, status: status, isPrivate: key.principal != nil)
        else { return false }
        return await refreshes.refresh(link, by: refresher, isRenewed: { urls.refuse(refused) }) { fresh in
            urls.give(try fresh.reference(for: link, isDerived: refused.reach == .publicOnly))
            return urls.isLeft
        }
    }

    /// Records in the index the URL at which the origin answered with bytes, for the next run.
    func noteAnswer(from url: MediaURL) async {
        guard look({ $0.mode.stores }), let source = urls.takeChange(of: url) else { return }
        let record = record
        // If the write fails, a later request supplies or finds the URL again.
        try? await pool.run { try record.renew(source) }
    }
}

extension ResourceLoader {
    /// Waits for a player's bytes while downloads yield to the player.
    func waitAsPlayer(_ reader: ReaderState.ID) async throws {
        try await playbackPriority.waiting(at: urls.current.url.origin) { try await waitForWake(reader) }
    }

    /// Wakes a reader at a given time, so that it decides again what to do.
    func wake(_ reader: ReaderState.ID, at time: ContinuousClock.Instant) {
        Task { [weak self] in
            try? await Task.sleep(until: time)
            self?.change { $0.readers.wake(reader) }
        }
    }
}

// Records what answers state in the index first and then in the loader's state, so that readers see nothing that a
// restart would lose.
extension ResourceLoader {
    /// Begins a new representation, in the index and in the loader's state.
    ///
    /// - Parameters:
    ///   - url: the URL that answered.
    ///   - connection: the connection that the answer came on, if the answer's bytes are used; otherwise nil.
    ///   - unsettledDate: the answer's `Last-Modified` if it does not distinguish versions yet; otherwise nil.
    func begin(
        _ information: ContentInformation, _ freshness: Freshness, from url: MediaURL, keeping fetch: FetchState.ID?,
        connection: UInt64? = nil, unsettledDate: String? = nil
    ) async throws {
        let (record, names, source) = (record, names, urls.current)
        let information = naming(url, in: information)
        let freshness = self.freshness(freshness, of: information)
        let begin = { [self] (refusal: VaultError?) in
            change { state in
                state.begin(
                    information, freshness, keeping: fetch,
                    isBound: isBound(information, state.known.entityTags, at: url),
                    connection: connection, unsettledDate: unsettledDate, refused: refusal)
            }
        }
        guard look({ $0.mode.stores }) else {
            try record.useUnstoredID()
            return begin(nil)
        }
        do {
            try await pool.run {
                if let principal = record.key.principal { try names.note(principal) }
                try record.begin(information, freshness, of: source)
            }
            begin(nil)
        } catch let error as VaultError {
            // Caching must never make playback fail, so a representation that the store refuses only passes through.
            try record.useUnstoredID()
            begin(error)
        }
    }

    /// Records newly learned facts about the representation, in the index and in the loader's state.
    func learn(_ information: ContentInformation) async throws {
        let record = record
        // If the write fails, the loader will learn these facts again.
        if look({ $0.mode.stores }) { try? await pool.run { try record.learn(information) } }
        change { $0.learn(information) }
    }
}

extension ResourceLoader {
    /// Makes sure that the known representation may be served, asking the origin once if it is stale.
    ///
    /// - Parameter position: the offset of the first byte wanted; nil if the request is not for bytes.
    /// - Throws: ``VaultError`` with code `refused` if the origin refuses and had demanded that each use be confirmed;
    ///   `CancellationError`.
    func revalidateIfStale(at position: @autoclosure () -> Int64?) async throws -> RevalidationOutcome {
        let now = store.index.now()
        guard look({ $0.known.isStale(now: now) }) else { return RevalidationOutcome() }
        let first = position()
        switch look({ $0.staleStep(at: first) }) {
        case .open: return RevalidationOutcome()
        case .stale(let reason): return RevalidationOutcome(staleness: reason)
        case .ask: break
        }
        // Do not wait for an origin that could not be reached a moment ago.
        if contact.verdict(now: .now) == false { return RevalidationOutcome(staleness: .unreachable) }
        // A resource with gaps requests bytes anyway, which will show whether it has changed. So wait only briefly for
        // it, unless the origin demands that each use be confirmed.
        let isStrict = look { $0.known.freshness?.isStrict } ?? false
        let waitsLong = isStrict || look { state in state.known.missing.isEmpty }
        let patience = look { state in
            let policy = state.retry.policy
            return waitsLong ? policy.revalidationTimeLimit : policy.staleTimeLimit
        }
        let (verdict, isNew) = try await revalidator.verdict(within: patience) { await self.revalidate() }
        switch verdict {
        case .confirmed(let status): return RevalidationOutcome(originStatus: isNew ? status : nil)
        case .changed: return RevalidationOutcome()
        case .stale(let reason, let status):
            return RevalidationOutcome(staleness: reason, originStatus: isNew ? status : nil)
        case .refused(let failure):
            guard isStrict else {
                return RevalidationOutcome(staleness: .refused, originStatus: isNew ? Self.status(of: failure) : nil)
            }
            throw FetchFailure.origin(failure).vaultError(for: url, at: first ?? 0)
        }
    }

    /// Returns whether the origin is reachable; nil if it has not answered in time.
    ///
    /// The request continues in the background, where it will notice a changed representation.
    func reachOrigin(within patience: Duration) async throws -> Bool? {
        if let known = contact.verdict(now: .now) { return known }
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
        guard contact.verdict(now: .now) != false else { return false }
        switch try await verdict(within: patience) {
        case .confirmed, .changed, .stale(.unverifiable, _): return true
        case .stale, .refused: return false
        }
    }

    private func verdict(within patience: Duration) async throws -> Revalidation.Verdict {
        try await revalidator.verdict(within: patience, inconclusiveLifetime: OriginReachability.doubted) {
            await self.revalidate()
        }.verdict
    }

    private func revalidate() async -> Revalidation.Verdict {
        do {
            let verdict = try await askOriginIfSame()
            contact.note(isReachable: true, now: .now)
            return verdict
        } catch let failure as OriginFailure {
            contact.note(isReachable: failure.kind != .unreachable, now: .now)
            originErrors.count(failure)
            switch failure.kind {
            case .unreachable, .interrupted: return .stale(.unreachable)
            case .invalidResponse: return .stale(.invalidResponse)
            case .refused:
                return Self.isFinal(failure)
                    ? .refused(failure) : .stale(.refused, status: Self.status(of: failure))
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
        if let imported = look({ $0.known.information }), imported.isImported {
            if let verdict = try await compareImport(imported) { return verdict }
            return try await askOriginIfSame(by: .get, isOther: true)
        }
        guard contact.answersHead else { return try await askOriginIfSame(by: .get) }
        do {
            let verdict = try await contact.within(retryPolicy.headTimeLimit) { [self] in
                try await askOriginIfSame(by: .head)
            }
            if verdict != .changed { return verdict }
        } catch is OriginReachability.TooSlow {
            contact.noteSilenceToHead()
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
        let validators = known?.validators
        let asked = store.index.now()
        // An answer that would replace a manifest is read whole first, so request more than one byte.
        let wantsByte = method == .get && !holdsManifest
        let exchange = try await ask { url in
            let end: Int64? = wantsByte ? 1 : nil
            return OriginRequest(
                url: url, method: method, first: end.map { $0 - 1 }, end: end, ifChangedFrom: validators)
        }
        guard let (request, response) = exchange else { return .stale(.unreachable) }
        defer { response.cancel() }
        let body = PeekableBody(response)
        let answer = response.head.dated(store.index.now())
        if method == .get { try await awaitBeginning(of: body, answer, asked: request, isOther: isOther) }
        return try await answers.exclusively {
            guard let information = known, information.validators == validators else {
                // Another answer changed the state meanwhile.
                return .changed
            }
            switch try await decide(on: answer, body, asked: request, isOther: isOther) {
            case .same:
                guard known?.validators != Validators() else {
                    return .stale(.unverifiable, status: response.head.status)
                }
                confirm(by: heard(answer), asked: asked)
                return .confirmed(status: response.head.status)
            case .refuse(let failure):
                // GET may get another answer.
                guard method == .get, failure.kind == .invalidResponse else { throw failure }
                originErrors.count(failure)
                return .stale(.invalidResponse, status: response.head.status)
            case .askAgain: return .changed
            case .other(let content, _):
                guard method == .get else { return .changed }
                let head = heard(answer)
                try await begin(
                    ResponseCheck.information(of: head, asked: request, content: content),
                    Freshness(head.fields, asked: asked), from: request.url, keeping: nil)
                return .changed
            }
        }
    }

    /// Confirms the known representation after an answer that belongs to it.
    ///
    /// This does nothing if no validator distinguishes the representation from another version.
    func confirm(by head: OriginHead, asked: Int64) {
        guard head.status != 416, let known, known.validators != Validators() else { return }
        update { state in
            guard let known = state.known.freshness, head.status == 304 else {
                return state.known.confirm(Freshness(head.fields, asked: asked))
            }
            state.known.confirm(known.confirmed(by: head.fields, asked: asked))
        }
    }

    /// Writes the freshness to the index if it was confirmed since the last write.
    package func writeFreshness() async {
        guard let news = change({ ($0.takeUnwrittenFreshness(), Effects()) }) else { return }
        let record = record
        // A failed write costs one extra request to the origin after the next start.
        try? await pool.run { try record.confirm(news) }
    }

    private static func status(of failure: OriginFailure) -> Int? {
        guard case .refused(let status, _) = failure.kind else { return nil }
        return status
    }

    /// Returns whether an origin's refusal is final, so that trying again would not help.
    static func isFinal(_ failure: OriginFailure) -> Bool {
        guard let status = status(of: failure) else { return false }
        return [401, 403, 404, 410, 451].contains(status)
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
