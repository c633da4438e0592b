import VaultModel

/// Where a redirect may lead. libcurl follows none itself: it would send secret fields on to other hosts.
enum RedirectPolicy {
    /// What is done with a head.
    enum Decision: Hashable, Sendable {
        /// It is the answer.
        case deliver
        /// The same request is sent there.
        case follow(MediaURL)
    }

    /// The most redirects that one request follows.
    static let mostHops = 10

    /// - Parameter hops: the redirects followed before.
    /// - Throws: ``OriginFailure`` of kind `lied` where the redirect leads nowhere that may be followed.
    static func decide(on head: OriginHead, from url: MediaURL, hops: Int) throws(OriginFailure) -> Decision {
        guard [301, 302, 303, 307, 308].contains(head.status), let location = head.fields["Location"] else {
            return .deliver
        }
        guard hops < mostHops else { throw OriginFailure(.lied, "more than \(mostHops) redirects") }
        guard let target = try? URLReference.resolve(location, at: url) else {
            throw OriginFailure(.lied, "a redirect to what is no http or https URL")
        }
        guard url.scheme != "https" || target.scheme == "https" else {
            throw OriginFailure(.lied, "a redirect from https to http")
        }
        return .follow(target)
    }

    /// Which addresses a URL may be asked at that redirects have led to: those of the request where it is the host and
    /// port that were named, or the same host asked by TLS; else public ones alone.
    static func reach(of target: MediaURL, named: MediaURL, _ reach: NetworkReach) -> NetworkReach {
        let isUpgrade = (named.scheme, named.effectivePort, target.effectivePort) == ("http", 80, 443)
        return target.host == named.host && (target.effectivePort == named.effectivePort || isUpgrade)
            ? reach : .publicOnly
    }
}
