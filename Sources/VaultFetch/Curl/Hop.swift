import VaultModel

/// Where one hop of a transfer goes, and what the hops before it have come to.
struct Hop {
    let url: MediaURL
    /// The redirects followed before.
    private(set) var count = 0
    /// Whether a redirect has led to another origin. What was given for the first one stays behind, even where a later
    /// redirect leads back: who sent it there is another.
    private(set) var hasLeft = false
    /// Whether no kept connection is used for it.
    private(set) var isOnFreshConnection = false

    init(_ url: MediaURL) { self.url = url }

    /// The hop that a redirect leads to.
    func following(to target: MediaURL) -> Hop {
        var next = Hop(target)
        next.count = count + 1
        next.hasLeft = hasLeft || (target.scheme, target.host) != (url.scheme, url.host)
            || target.effectivePort != url.effectivePort
        return next
    }

    /// The same hop once more, on a connection of its own.
    func onFreshConnection() -> Hop {
        var again = self
        again.isOnFreshConnection = true
        return again
    }
}
