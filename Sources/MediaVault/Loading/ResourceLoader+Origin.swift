import VaultFetch
import VaultModel
import VaultStorage

extension ResourceLoader {
    /// Sends a request to the address that counts. Where the origin refuses one, as it does signed addresses that have
    /// run out, others that are known have their turn.
    ///
    /// - Returns: nil where nothing is to be asked any more.
    func ask(
        for makeRequest: (MediaURL) -> OriginRequest?
    ) async throws -> (request: OriginRequest, response: any OriginResponse)? {
        while true {
            let (url, fields, reach) = addresses.current
            guard var request = makeRequest(url) else { return nil }
            request.fields = fields?.sent(to: url) ?? HeaderFields()
            request.reach = reach
            let response = try await origin.send(request)
            guard [401, 403].contains(response.head.status) else {
                addresses.grant(url)
                return (request, response)
            }
            guard addresses.refuse(url) else { return (request, response) }
            response.cancel()
        }
    }

    /// The origin has answered to an address with bytes: the index remembers it for the next run.
    func noteAnswer(from url: MediaURL) async {
        guard look({ $0.mode.stores }), let source = addresses.takeNews(of: url) else { return }
        let record = record
        // What could not be written down will be given, or found out, again.
        try? await pool.run { try record.renew(source) }
    }
}

extension ResourceLoader {
    /// Waits for a player's bytes, before which downloads stand back.
    func waitAsPlayer(_ reader: ReaderState.ID) async throws {
        try await precedence.waiting(at: addresses.current.url.origin) { try await waitForWake(reader) }
    }

    /// Wakes a reader at a time, so that it looks again.
    func wake(_ reader: ReaderState.ID, at time: ContinuousClock.Instant) {
        Task { [weak self] in
            try? await Task.sleep(until: time)
            self?.change { $0.wake(reader) }
        }
    }
}

// What answers tell, in the index and in the state: in this order, so that nothing is read that a restart would not know.
extension ResourceLoader {
    /// A new representation begins, in the index and here.
    func begin(
        _ information: ContentInformation, _ freshness: Freshness, keeping fetch: FetchState.ID?
    ) async throws {
        let (record, names, source) = (record, names, addresses.current)
        guard look({ $0.mode.stores }) else {
            try record.passThrough()
            return change { $0.begin(information, freshness, keeping: fetch) }
        }
        do {
            try await pool.run {
                if let principal = record.key.principal { try names.note(principal) }
                try record.begin(information, freshness, of: source)
            }
            change { $0.begin(information, freshness, keeping: fetch) }
        } catch let error as VaultError {
            // Caching is never the reason that playback fails: what the store refuses passes through.
            try record.passThrough()
            change { $0.begin(information, freshness, keeping: fetch, refused: error) }
        }
    }

    /// More has become known, in the index and here.
    func learn(_ information: ContentInformation) async throws {
        let record = record
        // That it could not be written down will be found out again.
        if look({ $0.mode.stores }) { try? await pool.run { try record.learn(information) } }
        change { $0.learn(information) }
    }
}

extension ResourceLoader {
    /// Makes sure that what is known may be given, by one question to the origin where it is no longer fresh.
    ///
    /// - Parameter position: the first byte wanted, where that matters; nil where it is not about bytes.
    /// - Throws: ``VaultError`` with code `refused` where the origin wants its refusal to count; `CancellationError`.
    func revalidateIfStale(at position: @autoclosure () -> Int64?) async throws -> RevalidationOutcome {
        let now = store.now()
        guard look({ $0.isStale(now: now) }) else { return RevalidationOutcome() }
        let first = position()
        switch look({ $0.staleStep(at: first) }) {
        case .open: return RevalidationOutcome()
        case .stale(let reason): return RevalidationOutcome(staleness: reason)
        case .ask: break
        }
        // Who was silent a moment ago need not be waited for.
        if contact.verdict(now: .now) == false { return RevalidationOutcome(staleness: .unreachable) }
        // What misses bytes asks for them all the same, and will be told: what it holds is given while the origin thinks,
        // unless that wants each use confirmed.
        let isStrict = look { $0.freshness?.isStrict } ?? false
        let isPatient = isStrict || look { state in state.missing.isEmpty }
        let patience = isPatient ? Revalidation.patience : look { $0.retry.policy.shortPatience }
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

    /// Whether the origin answers; nil where it has not said so in time: the question goes on beside what is given
    /// meanwhile. A changed representation is noticed on the way.
    func reachOrigin(within patience: Duration) async throws -> Bool? {
        if let known = contact.verdict(now: .now) { return known }
        let (verdict, _) = try await revalidator.verdict(within: patience, doubt: OriginReachability.doubted) {
            await self.revalidate()
        }
        switch verdict {
        case .stale(.unreachable, _): return false
        case .stale(.slow, _): return nil
        // It answered, if only to refuse: what is missing will show when it is asked for.
        case .confirmed, .changed, .stale, .refused: return true
        }
    }

    private func revalidate() async -> Revalidation.Verdict {
        do {
            let verdict = try await askWhetherSame()
            contact.note(isReachable: true, now: .now)
            return verdict
        } catch let failure as OriginFailure {
            contact.note(isReachable: failure.kind != .unreachable, now: .now)
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

    /// Asks the origin whether it still has the representation that is known; another one that it has begins.
    ///
    /// Some origins answer HEAD carelessly: what would be lost by its word is asked for once more, by the first byte.
    private func askWhetherSame() async throws -> Revalidation.Verdict {
        guard contact.answersHead else { return try await askWhetherSame(by: .get) }
        do {
            let verdict = try await contact.within(look { $0.retry.policy.headPatience }) { [self] in
                try await askWhetherSame(by: .head)
            }
            if verdict != .changed { return verdict }
        } catch is OriginReachability.TooSlow {
            contact.noteSilenceToHead()
        } catch let failure as OriginFailure where Self.mayBeHeadAlone(failure) {
            // GET may say otherwise.
        }
        return try await askWhetherSame(by: .get)
    }

    /// Answers to HEAD change nothing but how fresh things are.
    private func askWhetherSame(by method: OriginRequest.Method) async throws -> Revalidation.Verdict {
        let validators = known?.validators
        let asked = store.now()
        let exchange = try await ask { url in
            let end: Int64? = method == .get ? 1 : nil
            return OriginRequest(
                url: url, method: method, first: end.map { $0 - 1 }, end: end, ifChangedFrom: validators)
        }
        guard let (request, response) = exchange else { return .stale(.unreachable) }
        defer { response.cancel() }
        return try await answers.exclusively {
            guard let information = known, information.validators == validators else {
                // Meanwhile another answer has told more.
                return .changed
            }
            let known = KnownRepresentation(validators: information.validators, length: information.length)
            var head = heard(response.head)
            if try ValidationCheck.isSame(head, asked: request, known: known) {
                guard information.validators != Validators() else {
                    return .stale(.unverifiable, status: head.status)
                }
                confirm(by: head, asked: asked)
                return .confirmed(status: head.status)
            }
            guard method == .get else { return .changed }
            let content = try ResponseCheck.judge(head, asked: request, known: known).content
            if try await isOfOtherNode(head, content) {
                head = heard(head)
                guard self.known?.validators != Validators() else {
                    return .stale(.unverifiable, status: head.status)
                }
                confirm(by: head, asked: asked)
                return .confirmed(status: head.status)
            }
            try await begin(
                ResponseCheck.information(of: head, asked: request, content: content),
                Freshness(head.fields, asked: asked), keeping: nil)
            return .changed
        }
    }

    /// An answer of the origin's belongs to the representation that is known. What nothing tells from another version
    /// is not confirmed by that.
    func confirm(by head: OriginHead, asked: Int64) {
        guard head.status != 416, let known, known.validators != Validators() else { return }
        change { state in
            guard let known = state.freshness, head.status == 304 else {
                return state.confirm(Freshness(head.fields, asked: asked))
            }
            return state.confirm(known.confirmed(by: head.fields, asked: asked))
        }
    }

    /// Writes down what was confirmed since it was last written down.
    func tellFreshness() async {
        guard let news = change({ ($0.takeFreshnessNews(), Effects()) }) else { return }
        let record = record
        // What could not be written down costs one question after the next start.
        try? await pool.run { try record.confirm(news) }
    }

    private static func status(of failure: OriginFailure) -> Int? {
        guard case .refused(let status, _) = failure.kind else { return nil }
        return status
    }

    private static func isFinal(_ failure: OriginFailure) -> Bool {
        guard let status = status(of: failure) else { return false }
        return [401, 403, 404, 410, 451].contains(status)
    }

    private static func mayBeHeadAlone(_ failure: OriginFailure) -> Bool {
        switch failure.kind {
        case .refused(let status, _): status == 501 || (status < 500 && status != 429)
        // Some close on it, or answer with what is no head.
        case .interrupted, .invalidResponse: true
        case .unreachable: false
        }
    }
}

// What a resource is, before anything of it is known.
extension ResourceLoader {
    /// Finds out what a resource is without reading it.
    ///
    /// Some origins answer HEAD carelessly, or not at all: what nobody could build on is asked for once more, by the first
    /// byte, which is kept.
    func learnInformation() async throws -> ContentInformation {
        try await ready()
        if let known = look({ $0.information }) { return known }
        guard look({ $0.mode.asksOrigins }) else { throw MediaReader.hole(at: 0, isDamage: false) }
        do {
            if let told = try await askHead() { return told }
        } catch let failure as OriginFailure {
            throw FetchFailure.origin(failure).vaultError(for: url, at: 0)
        }
        do {
            let opening = try await open(.closed(first: 0, last: 0))
            change { $0.removeReader(opening.reader) }
            return opening.information
        } catch let error as VaultError where error.code == .unsatisfiableRange {
            // It is empty: that is known now.
            guard let known = look({ $0.information }) else { throw error }
            return known
        }
    }

    /// Asks for the head of a resource of which nothing is known, and takes over what it says.
    ///
    /// - Returns: nil where the origin did not say it in a way to build on: nothing is taken over then.
    /// - Throws: ``OriginFailure``; `CancellationError`.
    private func askHead() async throws -> ContentInformation? {
        guard contact.answersHead else { return nil }
        let time = store.now()
        let (url, fields, reach) = addresses.current
        let request = OriginRequest(
            url: url, method: .head, fields: fields?.sent(to: url) ?? HeaderFields(), reach: reach)
        do {
            let head = try await contact.within(look { $0.retry.policy.headPatience }) { [origin] in
                let response = try await origin.send(request)
                response.cancel()
                return response.head
            }
            return try await answers.exclusively { try await takeIn(heard(head), asked: request, at: time) }
        } catch is OriginReachability.TooSlow {
            contact.noteSilenceToHead()
            return nil
        } catch let failure as OriginFailure where Self.saysNothingOfGet(failure) {
            return nil
        }
    }

    /// Forgets a length of which no byte bears witness, so that the origin is asked for the range itself: the length may
    /// be HEAD's word alone. That there is nothing at all is no such word.
    ///
    /// - Returns: false where nothing was forgotten.
    func forgetHearsay() -> Bool {
        change { state in
            let isHearsay = state.information?.length ?? 0 > 0 && state.present.isEmpty && state.fetches.isEmpty
            return isHearsay && state.mode.asksOrigins ? (true, state.forget()) : (false, Effects())
        }
    }

    private func takeIn(
        _ head: OriginHead, asked request: OriginRequest, at time: Int64
    ) async throws -> ContentInformation? {
        // Meanwhile another answer may have told more.
        if let known = look({ $0.information }) { return known }
        let content = try ResponseCheck.judge(head, asked: request).content
        // Frameworks that know no HEAD say 0, or nothing.
        guard let length = content.length, length > 0 else { return nil }
        let information = ResponseCheck.information(of: head, asked: request, content: content)
        try await begin(information, Freshness(head.fields, asked: time), keeping: nil)
        return information
    }

    /// Whether GET may be answered though HEAD was answered like this.
    private static func saysNothingOfGet(_ failure: OriginFailure) -> Bool {
        switch failure.kind {
        // To ask once more what was asked too often would be no help.
        case .refused(let status, let retryAfter): status != 429 && retryAfter == nil
        case .interrupted, .invalidResponse: true
        case .unreachable: false
        }
    }
}
