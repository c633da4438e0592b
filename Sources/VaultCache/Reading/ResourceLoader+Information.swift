import VaultFetch
package import VaultModel
import VaultStorage

// Finds out what a resource is while nothing is known of it.
extension ResourceLoader {
    /// Finds out what a resource is without reading it.
    ///
    /// Some origins answer HEAD carelessly or not at all. If the answer to HEAD is unusable, the first byte is
    /// requested with GET, and kept.
    package func learnInformation() async throws -> ContentInformation {
        try await ready()
        if let known = look({ $0.known.information }) { return known }
        guard look({ $0.mode.allowsRequests }) else { throw MediaReader.hole(at: 0, isDamage: false) }
        do {
            if let told = try await askHead() { return told }
        } catch let failure as OriginFailure {
            originErrors.count(failure)
            throw FetchFailure.origin(failure).vaultError(for: url, at: 0)
        }
        do {
            let opening = try await open(.closed(first: 0, last: 0))
            change { $0.removeReader(opening.reader) }
            return opening.information
        } catch let error as VaultError where error.code == .unsatisfiableRange {
            // The resource is empty, and the loader now knows that.
            guard let known = look({ $0.known.information }) else { throw error }
            return known
        }
    }

    /// Sends a HEAD request for an unknown resource, and records what the answer states.
    ///
    /// - Returns: the information; nil if the answer is unusable, in which case nothing is recorded.
    /// - Throws: ``OriginFailure``; `CancellationError`.
    private func askHead() async throws -> ContentInformation? {
        guard contact.answersHead else { return nil }
        let time = store.index.now()
        let (url, fields, reach) = urls.current
        let request = OriginRequest(
            url: url, method: .head, fields: fields?.sent(to: url) ?? HeaderFields(), reach: reach)
        do {
            let head = try await contact.within(retryPolicy.headTimeLimit) { [origin] in
                let response = try await origin.send(request)
                response.cancel()
                return response.head
            }
            return try await answers.exclusively { try await takeIn(heard(head), asked: request, at: time) }
        } catch is OriginReachability.TooSlow {
            contact.noteSilenceToHead()
            return nil
        } catch let failure as OriginFailure where Self.mayGetSucceed(failure) {
            return nil
        }
    }

    /// Forgets a length that is unconfirmed because it came from HEAD, so that the origin is asked for the range
    /// itself.
    ///
    /// A length counts as unconfirmed if it is above 0 and no byte is present or being fetched.
    ///
    /// - Returns: false if nothing was forgotten.
    func forgetUnconfirmedLength() -> Bool {
        change { state in
            let isHearsay = state.known.information?.length ?? 0 > 0 && state.present.isEmpty && state.fetches.isEmpty
            return isHearsay && state.mode.allowsRequests ? (true, state.forget()) : (false, Effects())
        }
    }

    private func takeIn(
        _ head: OriginHead, asked request: OriginRequest, at time: Int64
    ) async throws -> ContentInformation? {
        // Another answer may have changed the loader's state in the meantime.
        if let known = look({ $0.known.information }) { return known }
        let content = try ResponseCheck.content(of: head, asked: request)
        // Frameworks that do not support HEAD report a length of 0, or no length.
        guard let length = content.length, length > 0 else { return nil }
        let information = ResponseCheck.information(of: head, asked: request, content: content)
        try await begin(information, Freshness(head.fields, asked: time), from: request.url, keeping: nil)
        return information
    }

    /// Returns whether GET may succeed although HEAD failed in this way.
    private static func mayGetSucceed(_ failure: OriginFailure) -> Bool {
        switch failure.kind {
        // After too many requests, another request would not help.
        case .refused(let status, let retryAfter): status != 429 && retryAfter == nil
        case .interrupted, .invalidResponse: true
        case .unreachable: false
        }
    }
}
