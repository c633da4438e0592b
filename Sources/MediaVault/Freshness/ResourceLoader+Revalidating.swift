import VaultFetch
import VaultModel
import VaultStorage

extension ResourceLoader {
    /// Makes sure that what is known may be given, by one question to the origin where it is no longer fresh.
    ///
    /// - Parameter position: the first byte wanted, where that matters; nil where it is not about bytes.
    /// - Throws: ``VaultError`` with code `refused` where the origin wants its refusal to count; `CancellationError`.
    func inquire(at position: @autoclosure () -> Int64?) async throws -> Inquiry {
        let now = store.now()
        guard look({ $0.isStale(now: now) }) else { return Inquiry() }
        let first = position()
        switch look({ $0.staleStep(at: first) }) {
        case .open: return Inquiry()
        case .stale(let reason): return Inquiry(staleness: reason)
        case .ask: break
        }
        // Who was silent a moment ago need not be waited for.
        if contact.verdict(now: .now) == false { return Inquiry(staleness: .unreachable) }
        // What misses bytes asks for them all the same, and will be told: what it holds is given while the origin thinks,
        // unless that wants each use confirmed.
        let isStrict = look { $0.freshness?.isStrict } ?? false
        let isPatient = isStrict || look { state in state.missing.isEmpty }
        let patience = isPatient ? Revalidation.patience : look { $0.retry.policy.shortPatience }
        let (verdict, isNew) = try await revalidator.verdict(within: patience) { await self.revalidate() }
        switch verdict {
        case .confirmed(let status): return Inquiry(originStatus: isNew ? status : nil)
        case .changed: return Inquiry()
        case .stale(let reason, let status):
            return Inquiry(staleness: reason, originStatus: isNew ? status : nil)
        case .refused(let failure):
            guard isStrict else {
                return Inquiry(staleness: .refused, originStatus: isNew ? Self.status(of: failure) : nil)
            }
            throw FetchFailure.origin(failure).vaultError(for: url, at: first ?? 0)
        }
    }

    /// Whether the origin answers; nil where it has not said so in time: the question goes on beside what is given
    /// meanwhile. A changed representation is noticed on the way.
    func reachOrigin(within patience: Duration) async throws -> Bool? {
        if let known = contact.verdict(now: .now) { return known }
        let (verdict, _) = try await revalidator.verdict(within: patience, doubt: OriginContact.doubted) {
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
            case .lied: return .stale(.lied)
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
        } catch is OriginContact.TooSlow {
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
        case .interrupted, .lied: true
        case .unreachable: false
        }
    }
}
