import VaultModel

/// Whether a web page has made a request, and whether it may.
///
/// Pages can send a great deal without being allowed to read the answer; what a browser says of who asks is all there is
/// to tell them by. Programs that are no browsers say nothing of it, and are told by their capability alone.
struct PageCheck: Sendable {
    enum Verdict: Hashable {
        /// No page has made it, or one of the service's own.
        case own
        /// A page of this origin, which the operator allowed, has made it.
        case allowed(String)
        /// Another page has made it.
        case foreign
    }

    private let origins: Set<String>

    /// Whether there are pages that may.
    var allowsAny: Bool { !origins.isEmpty }

    /// - Parameter origins: the allowed ones, such as `https://kiosk.example`.
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument`` where one is no origin.
    init(allowing origins: [String] = []) throws {
        self.origins = Set(
            try origins.map { text in
                guard let url = try? MediaURL(text), !url.hasCredentials, text.isEqualIgnoringCase(url.origin) else {
                    throw VaultError(
                        .invalidArgument,
                        "\(text) is no origin of a web page: write scheme, host and port, such as https://kiosk.example"
                    )
                }
                return url.origin
            })
    }

    /// Judges what a request says of who made it.
    ///
    /// - Parameters:
    ///   - origin: the values of `Origin`.
    ///   - site: `Sec-Fetch-Site`.
    ///   - referer: `Referer`, which a page can leave out and not forge; of `<video src>` nothing else names the page.
    ///   - own: the service's own origin, by the name that the request came by.
    func verdict(
        origin: [String], site: String?, referer: @autoclosure () -> String?, own: @autoclosure () -> String
    ) -> Verdict {
        switch origin.count {
        case 0:
            guard let site, site != "none", site != "same-origin" else { return .own }
            guard let page = referer().flatMap({ try? MediaURL($0) })?.origin, origins.contains(page) else {
                return .foreign
            }
            return .allowed(page)
        case 1 where origin[0] == own(): return .own
        case 1 where origins.contains(origin[0]): return .allowed(origin[0])
        default: return .foreign
        }
    }
}
