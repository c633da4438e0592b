import VaultFetch
import VaultModel
import VaultStorage

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
        } catch is OriginContact.TooSlow {
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
        case .interrupted, .lied: true
        case .unreachable: false
        }
    }
}
