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
}
