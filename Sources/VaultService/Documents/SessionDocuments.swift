package import MediaVault
import VaultModel

/// A session as `GET /api/v1/sessions` and `sessions list --json` report it.
package struct SessionDocument: Codable, Hashable, Sendable {
    package let id: String
    /// The name of the viewer who is signed in; null for the owner.
    @OrNull package var viewer: String?
    /// The name that the owner gave the session, else the browser and its system, if known.
    @OrNull package var browser: String?
    /// The scope of the requests that the session may make.
    package let scope: AccessScope
    package let created: Timestamp
    /// The latest time at which the session ends.
    @OrNull package var expires: Timestamp?
    /// When the session was last used, to within five minutes; null if it never was.
    @OrNull package var lastUsed: Timestamp?

    /// Returns nil if the grant is not a session, or if the session's viewer was removed.
    init?(_ grant: AccessGrant, among viewers: Viewers) {
        guard case .session(let holder) = grant.kind else { return nil }
        if let holder {
            guard let name = viewers.viewer(holder)?.name else { return nil }
            viewer = name
        }
        (id, browser, scope) = (grant.shortID, grant.name, holder == nil ? .admin : .play)
        created = Timestamp(seconds: grant.created)
        expires = grant.expires.map { Timestamp(seconds: $0) }
        lastUsed = grant.lastUsed.map { Timestamp(seconds: $0) }
    }
}

/// The sessions of a vault.
package struct SessionsDocument: Codable, Sendable {
    package let sessions: [SessionDocument]
    /// The number of unreadable records of tokens, named links and sessions. Such a record grants no access.
    package let damaged: Int
}

/// The body of `PATCH /api/v1/sessions`.
package struct SessionNaming: Codable, Sendable {
    package let id: String
    package let name: String

    package init(id: String, name: String) { (self.id, self.name) = (id, name) }
}

/// The body of `POST /api/v1/sessions`: a ticket, or the name and the PIN of a viewer.
struct SignInOrder: Codable, Sendable {
    /// A ticket for a session.
    let ticket: String?
    let name: String?
    let pin: PIN?

    /// The maximum length of the body in bytes. It is small because the client has no credential yet.
    static let maxBytes = 4096
}

/// The answer to `POST /api/v1/sessions`. The answer's header carries the session cookie.
struct BegunSessionDocument: Codable, Sendable {
    let session: SessionDocument
    /// The value that the page sends as `X-Session-Proof` with each request.
    let proof: String
}

/// The name of a browser, for the list of sessions.
enum BrowserName {
    /// Substrings of `User-Agent`, and the browser that each identifies. The first match applies, because a browser
    /// also names the browsers that it resembles.
    private static let browsers = [
        ("Edg/", "Edge"), ("OPR/", "Opera"), ("SamsungBrowser/", "Samsung Internet"), ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"), ("CriOS/", "Chrome"), ("Chromium/", "Chromium"), ("Chrome/", "Chrome"),
        ("Safari/", "Safari"), ("curl/", "curl"),
    ]
    private static let systems = [
        ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"), ("CrOS", "ChromeOS"),
        ("Mac OS X", "macOS"), ("Linux", "Linux"), ("Tizen", "Tizen"), ("Web0S", "webOS"),
    ]

    /// Returns a name such as `Firefox on Linux`; nil if the browser is unknown.
    ///
    /// - Parameter userAgent: the value of `User-Agent`, of which only the returned name is kept.
    static func of(userAgent: String?) -> String? {
        func first(_ table: [(String, String)]) -> String? {
            table.first { userAgent?.contains($0.0) ?? false }?.1
        }
        guard let browser = first(browsers) else { return nil }
        return first(systems).map { "\(browser) on \($0)" } ?? browser
    }
}
