package import VaultModel

/// The rules by which redirects are followed.
///
/// libcurl does not follow redirects itself, because it would send secret fields to other hosts.
package enum RedirectPolicy {
    /// The decision on what to do with a response head.
    enum Decision: Hashable, Sendable {
        /// Deliver the head to the reader.
        case deliver
        /// Send the same request to this URL.
        case follow(MediaURL)
    }

    /// The maximum number of redirects followed for one request.
    static let maxHops = 10

    /// Decides whether a head is a redirect that should be followed.
    ///
    /// - Parameter hops: the number of redirects already followed.
    /// - Throws: ``OriginFailure`` of kind `invalidResponse` if the redirect's target is not allowed, or ``maxHops``
    ///   redirects have already been followed.
    static func decide(on head: OriginHead, from url: MediaURL, hops: Int) throws(OriginFailure) -> Decision {
        guard [301, 302, 303, 307, 308].contains(head.status), let location = head.fields["Location"] else {
            return .deliver
        }
        guard hops < maxHops else { throw OriginFailure(.invalidResponse, "more than \(maxHops) redirects") }
        guard let target = try? URLReference.resolve(location, at: url) else {
            throw OriginFailure(.invalidResponse, "a redirect to something other than an http or https URL")
        }
        guard url.scheme != "https" || target.scheme == "https" else {
            throw OriginFailure(.invalidResponse, "a redirect from https to http")
        }
        return .follow(target)
    }

    /// Returns whether a redirect is permanent, so that later requests should use its target (RFC 9110 §15.4).
    static func isPermanent(_ head: OriginHead) -> Bool { head.status == 301 || head.status == 308 }

    /// Returns the addresses that a redirect's target may have.
    ///
    /// If the target has the host and port of `named`, or the same host over TLS (port 80 to 443), these are the
    /// addresses allowed for the request; otherwise only public addresses.
    static func reach(of target: MediaURL, named: MediaURL, _ reach: NetworkReach) -> NetworkReach {
        isAtAuthority(of: named, target) ? reach : .publicOnly
    }

    /// Returns whether `target` has the host and port of `named`, or the same host over TLS (port 80 to 443).
    package static func isAtAuthority(of named: MediaURL, _ target: MediaURL) -> Bool {
        target.host == named.host && target.effectivePort == named.effectivePort || target.isUpgrade(of: named)
    }
}
