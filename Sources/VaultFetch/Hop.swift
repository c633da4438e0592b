import VaultModel

/// The target of one hop of a transfer, and the history of the hops before it.
struct Hop {
    let url: MediaURL
    /// The number of redirects followed before.
    private(set) var count = 0
    /// Whether a redirect has led to another origin.
    ///
    /// The caller's fields and credentials are then not sent any more, even if a later redirect leads back to the first
    /// origin: the other origin chose that target.
    private(set) var hasLeftOrigin = false
    /// Whether each redirect kept to the host and port that the request names, or to the same host by TLS.
    private(set) var isAtNamedHost = true
    /// Where the redirects led that were permanent, up to the first that was not.
    private(set) var movedTo: MediaURL?
    /// Whether the hop must use a new connection.
    private(set) var isOnFreshConnection = false
    /// Whether the dates of a certificate are kept that is refused for them: only a second try does, because what it needs
    /// keeps its connection from later requests.
    private(set) var keepsDates = false
    /// The hosts that redirected here from private addresses, or were sent credentials of the settings.
    ///
    /// Nil if a proxy asked a host of which that is unknown.
    private(set) var privateHosts: Set<String>? = []
    /// The cookies that the hops before were sent, in libcurl's form: some origins redirect to themselves until one comes
    /// back. No other request has them, and no other origin leads to one that is sent them.
    private(set) var cookies: [String] = []

    init(_ url: MediaURL) { self.url = url }

    /// Returns the hop that a redirect leads to.
    ///
    /// - Parameters:
    ///   - isPermanent: whether the redirect is for good.
    ///   - privateHosts: the hosts at private addresses that were asked so far.
    ///   - cookies: those that the hops so far were sent.
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

    /// Returns the same hop, to be tried again for the dates of the certificate that was refused. It is verified again, so
    /// that nothing is sent unless another one comes, which is trusted.
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
