import VaultModel

/// The target of one hop of a transfer, and the history of the hops before it.
struct Hop {
    let url: MediaURL
    /// The number of redirects followed before this hop.
    private(set) var count = 0
    /// Whether a redirect has led to another origin.
    ///
    /// If so, the caller's fields and credentials are no longer sent, even if a later redirect leads back to the first
    /// origin, because the other origin chose that target.
    private(set) var hasLeftOrigin = false
    /// Whether every redirect stayed at the host and port that the request names, or at the same host over TLS.
    private(set) var isAtNamedHost = true
    /// The target of the last permanent redirect before any other redirect; nil if the first redirect was another one.
    private(set) var movedTo: MediaURL?
    /// Whether the hop must use a new connection.
    private(set) var isOnFreshConnection = false
    /// Whether OpenSSL stores the dates of a certificate that it refuses because of them. Only a second attempt does
    /// so, because its connection cannot be used for later requests.
    private(set) var keepsDates = false
    /// The hosts that redirected here from private addresses, or that received credentials from the settings.
    ///
    /// Nil if that is unknown for any host because a proxy forwarded the request.
    private(set) var privateHosts: Set<String>? = []
    /// The cookies that earlier hops received, in libcurl's format, because some origins redirect to themselves until a
    /// cookie comes back. Other requests do not get these cookies, and a redirect to another origin drops them.
    private(set) var cookies: [String] = []

    init(_ url: MediaURL) { self.url = url }

    /// Returns the hop to which a redirect leads.
    ///
    /// - Parameters:
    ///   - isPermanent: whether the redirect is permanent.
    ///   - privateHosts: the new value of ``privateHosts``, which takes this hop's host into account.
    ///   - cookies: the cookies that the hops have received so far.
    func following(
        to target: MediaURL, isPermanent: Bool = false, privateHosts: Set<String>? = [], cookies: [String] = []
    ) -> Hop {
        var next = Hop(target)
        next.count = count + 1
        next.movedTo = isPermanent && (count == 0 || movedTo == url) ? target : movedTo
        next.privateHosts = privateHosts
        next.hasLeftOrigin =
            hasLeftOrigin || (target.scheme, target.host) != (url.scheme, url.host)
            || target.effectivePort != url.effectivePort
        next.cookies = next.hasLeftOrigin ? [] : cookies
        next.isAtNamedHost = isAtNamedHost && RedirectPolicy.isAtAuthority(of: url, target)
        return next
    }

    /// Returns the same hop, to be tried again in order to learn the dates of the refused certificate. TLS verifies the
    /// certificate again, so nothing is sent unless the second attempt finds a trusted one.
    func keepingDates() -> Hop {
        var again = self
        again.keepsDates = true
        return again
    }

    /// Returns the same hop, to be sent again on a new connection.
    func onFreshConnection() -> Hop {
        var again = self
        again.isOnFreshConnection = true
        return again
    }
}
