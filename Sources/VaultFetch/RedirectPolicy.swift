package import VaultModel

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
    /// - Throws: ``OriginFailure`` of kind `invalidResponse` where the redirect leads nowhere that may be followed.
    static func decide(on head: OriginHead, from url: MediaURL, hops: Int) throws(OriginFailure) -> Decision {
        guard [301, 302, 303, 307, 308].contains(head.status), let location = head.fields["Location"] else {
            return .deliver
        }
        guard hops < mostHops else { throw OriginFailure(.invalidResponse, "more than \(mostHops) redirects") }
        guard let target = try? URLReference.resolve(location, at: url) else {
            throw OriginFailure(.invalidResponse, "a redirect to what is no http or https URL")
        }
        guard url.scheme != "https" || target.scheme == "https" else {
            throw OriginFailure(.invalidResponse, "a redirect from https to http")
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

/// A reference to a URL as it stands in `Location`: absolute, or relative to where it was found.
package enum URLReference {
    /// The URL that `reference` means at `base` (RFC 3986 §5.2); its fragment is dropped.
    ///
    /// Blanks are escaped: servers send them, and browsers follow.
    ///
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidURL`` where that is no http or https URL.
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
