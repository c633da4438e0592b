package import VaultModel

/// The rules for redirects.
///
/// libcurl follows none itself, because it would send secret fields to other hosts.
enum RedirectPolicy {
    /// What to do with a head.
    enum Decision: Hashable, Sendable {
        /// Deliver it as the response.
        case deliver
        /// Send the same request to this URL.
        case follow(MediaURL)
    }

    /// The most redirects followed for one request.
    static let maxHops = 10

    /// Decides whether a head is a redirect to follow.
    ///
    /// - Parameter hops: the number of redirects followed before.
    /// - Throws: ``OriginFailure`` of kind `invalidResponse` if the target of the redirect is not allowed.
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

    /// Returns the addresses that the target of redirects may have.
    ///
    /// These are the addresses allowed for the request if the target has its host and port, or the same host by TLS
    /// (port 80 to 443); otherwise only public ones.
    static func reach(of target: MediaURL, named: MediaURL, _ reach: NetworkReach) -> NetworkReach {
        let isUpgrade = (named.scheme, named.effectivePort, target.effectivePort) == ("http", 80, 443)
        return target.host == named.host && (target.effectivePort == named.effectivePort || isUpgrade)
            ? reach : .publicOnly
    }
}

/// Resolution of URL references, as in `Location`: absolute, or relative to the URL where they were found.
package enum URLReference {
    /// Returns the URL that `reference` means at `base` (RFC 3986 §5.2); its fragment is dropped.
    ///
    /// Spaces are escaped: servers send them, and browsers follow such references.
    ///
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidURL`` if the result is not an http or https URL.
    package static func resolve(_ reference: String, at base: MediaURL) throws -> MediaURL {
        let text = reference.prefix { $0 != "#" }.split(separator: " ", omittingEmptySubsequences: false)
            .joined(separator: "%20")
        if hasScheme(text) { return try MediaURL(text) }
        if text.hasPrefix("//") { return try MediaURL("\(base.scheme):\(text)") }
        let root = "\(base.scheme)://\(base.authority)"
        if text.isEmpty { return try MediaURL(root + base.path + (base.query.map { "?\($0)" } ?? "")) }
        if text.hasPrefix("/") { return try MediaURL(root + text) }
        if text.hasPrefix("?") { return try MediaURL(root + base.path + text) }
        let folder = base.path[...(base.path.lastIndex(of: "/") ?? base.path.startIndex)]
        return try MediaURL(root + folder + text)
    }

    private static func hasScheme(_ text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":"), let first = text.utf8.first, isLetter(first) else { return false }
        return text[..<colon].utf8.allSatisfy {
            isLetter($0) || ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte.asciiLowercased) }
}
