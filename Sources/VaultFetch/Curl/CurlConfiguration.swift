/// How a ``CurlOrigin`` asks, and how long it waits.
package struct CurlConfiguration: Sendable {
    /// What it calls itself, such as `MediaVault/1.0`. Holds no control character.
    package var userAgent: String
    /// How long finding, connecting to and greeting a server may take.
    package var connectTimeout: Duration
    /// How long a server may take for its head, and then for each byte, while somebody reads.
    package var stallTimeout: Duration
    /// Whether a host, as ``MediaURL`` spells it, may be private though somebody else than the operator led to it.
    package var allowsPrivate: @Sendable (_ host: String) -> Bool = { _ in false }
    /// The file of authorities whose certificates are trusted, in place of the system's; nil is the system's.
    package var authorities: String?
    /// How many connections there may be, those kept for later requests included; asked each time. A request beyond them
    /// waits for one.
    package var mostConnections: @Sendable () -> Int = { ConnectionShare.ofProcess }
    /// Where this process listens itself: asking there would go in a circle.
    package var ownListeners = OwnListeners()

    package init(
        userAgent: String, connectTimeout: Duration = .seconds(10), stallTimeout: Duration = .seconds(30)
    ) {
        self.userAgent = userAgent
        self.connectTimeout = connectTimeout
        self.stallTimeout = stallTimeout
    }
}
