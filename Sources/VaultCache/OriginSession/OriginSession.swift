import VaultFetch
package import VaultModel

/// Asks the origin of one resource: knows at which URLs, and whether the origin can be reached.
package final class OriginSession: Sendable {
    /// The URLs that the bytes can be requested from.
    package let urls: OriginURLs
    package let contact = OriginReachability()
    package let revalidator = Revalidator()
    let errors: OriginErrors
    private let key: CacheKey
    private let transport: any Origin
    private let refresher: LinkRefresherInForce
    private let refreshes = LinkRefreshes()
    /// An answer kept for a request that is about to be made again, with the request that it answered.
    private let early = Locked<(request: OriginRequest, response: any OriginResponse)?>(nil)

    init(
        of resource: NamedResource, over transport: any Origin, refresher: LinkRefresherInForce, errors: OriginErrors
    ) {
        urls = OriginURLs(resource.reference)
        (key, self.transport, self.refresher, self.errors) = (resource.key, transport, refresher, errors)
    }

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
            let source = urls.current
            guard let request = makeRequest(source.url).map({ complete($0, for: source) }) else { return nil }
            if let answered = takeAnswer(to: request) { return answered }
            let response = try await transport.send(request)
            let status = response.head.status
            guard RefusedLink.statuses.contains(status) else {
                urls.grant(source.url)
                return (request, response)
            }
            if !urls.refuse(source), await !refresh(source, status) {
                guard Task.isCancelled else { return (request, response) }
                // A caller that left while the refresher was working must not get the refusal.
                response.cancel()
                throw CancellationError()
            }
            response.cancel()
        }
    }

    /// Sends a request to the current URL alone, and returns the head of the answer.
    ///
    /// - Parameter reach: the addresses that the request may be sent to; nil for those that the URL may lead to.
    func askOnce(
        reach: NetworkReach? = nil, for makeRequest: (MediaURL) -> OriginRequest
    ) async throws -> (request: OriginRequest, head: OriginHead) {
        let source = urls.current
        var request = complete(makeRequest(source.url), for: source)
        request.reach = reach ?? source.reach
        let response = try await transport.send(request)
        response.cancel()
        return (request, response.head)
    }

    /// Adds to a request what was given with a URL.
    private func complete(_ request: OriginRequest, for source: OriginURLs.Source) -> OriginRequest {
        var request = request
        request.fields = source.fields?.sent(to: source.url) ?? HeaderFields()
        request.reach = source.reach
        return request
    }

    /// Finds a new link to replace one that the origin refused; returns whether an untried link remains.
    private func refresh(_ refused: OriginURLs.Source, _ status: Int) async -> Bool {
        guard let refresher = refresher.current,
            let link = RefusedLink(contentID: key.contentID, status: status, isPrivate: key.principal != nil)
        else { return false }
        return await refreshes.refresh(link, by: refresher, isRenewed: { urls.refuse(refused) }) { [urls] fresh in
            urls.give(try fresh.reference(for: link, isDerived: refused.reach == .publicOnly))
            return urls.isLeft
        }
    }

    /// Records that the origin answered.
    package func noteAnswer() { contact.note(isReachable: true, now: .now) }

    /// Records that a request failed.
    package func note(_ failure: OriginFailure) {
        if failure.kind == .unreachable { contact.note(isReachable: false, now: .now) }
        errors.count(failure)
    }

    /// Keeps the answer to a request for the whole resource, in case the next request is the same.
    func keep(_ response: any OriginResponse, to request: OriginRequest) {
        early.withLock { $0 = (request, response) }
    }

    /// Returns the kept answer if this request is the same; forgets the answer either way.
    private func takeAnswer(to request: OriginRequest) -> (request: OriginRequest, response: any OriginResponse)? {
        let kept = early.withLock { early in
            defer { early = nil }
            return early
        }
        guard let kept, kept.request.isSame(as: request) else { return nil }
        return kept
    }
}

extension OriginRequest {
    /// Returns whether another request gets the same answer.
    fileprivate func isSame(as other: OriginRequest) -> Bool {
        (url, method, range, ifRange, ifChangedFrom) == (
            other.url, other.method, other.range, other.ifRange, other.ifChangedFrom
        ) && fields == other.fields && reach == other.reach
    }
}

extension OriginFailure {
    /// The status with which the origin refused; nil if it failed in another way.
    var refusalStatus: Int? {
        guard case .refused(let status, _) = kind else { return nil }
        return status
    }

    /// Whether the origin's refusal is final, so that trying again would not help.
    var isFinal: Bool { refusalStatus.map([401, 403, 404, 410, 451].contains) ?? false }
}
