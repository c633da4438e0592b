import VaultCrypto
import VaultModel

/// A token, whose text is a prefix followed by the base64url of its grant's id and a MAC.
///
/// The MAC covers the id, the use and the expiry, so that altering the grant's record cannot give a token more rights.
struct AccessToken: Hashable {
    /// The use of a token.
    enum Use: Hashable {
        /// A token for the API.
        case api(AccessScope)
        /// The cookie of a session, which scripts on the page cannot read.
        case cookie
        /// The proof of a session. Scripts on the page send it with each request; the cookie cannot replace it.
        case proof

        /// The prefix by which people and secret scanners recognize the token.
        var prefix: String {
            switch self {
            case .api: "mvt_"
            case .cookie: "mvs_"
            case .proof: "mvp_"
            }
        }

        /// The word that stands for the use in the MAC's input. No scope has the same word as another use.
        fileprivate var word: String {
            switch self {
            case .api(let scope): scope.rawValue
            case .cookie: "session cookie"
            case .proof: "session proof"
            }
        }
    }

    let prefix: String
    let grant: GrantID
    /// 32 bytes computed with the token key.
    let mac: [UInt8]

    private static let prefixes = [Use.api(.read), .cookie, .proof].map(\.prefix)
    private static let prefixLength = 4
    private static let macByteCount = 32
    private static let textLength = prefixLength + (GrantKind.byteCount + macByteCount) / 3 * 4

    init(_ use: Use, grant: GrantID, mac: [UInt8]) { (prefix, self.grant, self.mac) = (use.prefix, grant, mac) }

    /// Parses exactly the text form that ``text`` writes; nil for anything else.
    init?(_ text: String) {
        guard text.utf8.count == Self.textLength, let prefix = Self.prefixes.first(where: { text.hasPrefix($0) }),
            let bytes = Base64.decodeFromURL(String(Substring(text.utf8.dropFirst(Self.prefixLength)))),
            bytes.count == GrantKind.byteCount + Self.macByteCount,
            let grant = GrantID(bytes: Array(bytes.prefix(GrantKind.byteCount)))
        else { return nil }
        self.prefix = prefix
        self.grant = grant
        mac = Array(bytes.dropFirst(GrantKind.byteCount))
    }

    var text: String { prefix + Base64.encodeForURL(grant.bytes + mac) }

    /// Returns the input of the MAC.
    static func message(epoch: Int64, grant: AccessGrant, _ use: Use) -> [UInt8] {
        let expiry = grant.expires.map { String($0) } ?? "never"
        return MACMessage.bytes(
            [Array(String(epoch).utf8), grant.id.bytes, Array(use.word.utf8), Array(expiry.utf8)])
    }
}

/// The rights of a request with a valid token or session.
package struct TokenAccess: Hashable, Sendable {
    let grant: GrantID
    /// The scope that the token or session allows.
    package let scope: AccessScope
    /// Whether this is a session. When it ends, everything unnamed that was created in it ends, too.
    package let isSession: Bool
    /// The viewer who is signed in; nil for the owner and for tokens.
    package let viewer: ViewerID?
}

/// The two halves of a session's secret. A request is admitted only with both.
///
/// A browser sends a cookie to every port of its host, where the cookie may be stolen; another script on the page may
/// steal a value that a script stores. Neither theft yields the other half.
package struct SessionSecret: Hashable, Sendable {
    /// The half that the browser sends as a cookie.
    package let cookie: String
    /// The half that the page sends in a header field of its own.
    package let proof: String

    package init(cookie: String, proof: String) { (self.cookie, self.proof) = (cookie, proof) }
}

extension TokenIssuer {
    /// Returns the scope that a token allows; nil unless the vault has issued the token and it is neither revoked nor
    /// expired.
    ///
    /// How long this takes does not depend on how much of the token is correct.
    ///
    /// - Parameters:
    ///   - text: the token.
    ///   - now: the current time, in seconds since 1970.
    public func scope(ofToken text: String, now: Int64) -> AccessScope? { access(byToken: text, now: now)?.scope }

    /// Returns the access that a token allows, by the rules of ``scope(ofToken:now:)``, and records that it was used.
    package func access(byToken text: String, now: Int64) -> TokenAccess? {
        guard let token = AccessToken(text), let grant = grants?.grant(token.grant),
            case .token(let scope) = grant.kind, matches(token, grant, .api(scope)), grant.era == era,
            grant.isCurrent(at: now)
        else { return nil }
        grants?.noteUse(of: grant, now: now)
        return TokenAccess(grant: grant.id, scope: scope, isSession: false, viewer: nil)
    }

    /// Returns the access that a session allows, and records that it was used; nil unless the vault began the session,
    /// it has not ended, and both halves of its secret are correct.
    ///
    /// How long this takes does not depend on how much of the secret is correct.
    package func access(bySession secret: SessionSecret, now: Int64) -> TokenAccess? {
        guard let cookie = AccessToken(secret.cookie), let proof = AccessToken(secret.proof),
            cookie.grant == proof.grant, let grants, let grant = grants.grant(cookie.grant),
            case .session(let viewer) = grant.kind
        else { return nil }
        let (isCookie, isProof) = (matches(cookie, grant, .cookie), matches(proof, grant, .proof))
        guard isCookie, isProof, grant.era == era, grants.isCurrent(grant, at: now) else { return nil }
        grants.noteUse(of: grant, now: now)
        return TokenAccess(
            grant: grant.id, scope: viewer == nil ? .admin : .play, isSession: true, viewer: viewer)
    }

    private func matches(_ token: AccessToken, _ grant: AccessGrant, _ use: AccessToken.Use) -> Bool {
        token.prefix == use.prefix && ConstantTime.areEqual(mac(of: grant, use), token.mac)
    }

    /// Returns whether a previously accepted token is still valid.
    package func isValid(_ access: TokenAccess, now: Int64) -> Bool {
        guard let grants, let grant = grants.grant(access.grant) else { return false }
        return grant.era == era && grants.isCurrent(grant, at: now)
    }

    /// Returns whether a grant has neither been revoked nor expired.
    package func isInForce(_ id: GrantID) -> Bool {
        guard let grants, let grant = grants.grant(id) else { return false }
        return grant.era == era && grants.isCurrent(grant)
    }

    /// Returns the token of a grant, or one half of its session's secret.
    func token(of grant: AccessGrant, _ use: AccessToken.Use) -> String {
        AccessToken(use, grant: grant.id, mac: mac(of: grant, use)).text
    }

    /// Identifies the current token key and epoch. Anything that was issued under another era is void.
    var era: [UInt8] {
        Array(keyring.token(.tokenEra, LittleEndian.bytes(UInt64(keyring.tokenEpoch))).prefix(Self.eraByteCount))
    }

    private static var eraByteCount: Int { 16 }

    private func mac(of grant: AccessGrant, _ use: AccessToken.Use) -> [UInt8] {
        keyring.token(.token, AccessToken.message(epoch: keyring.tokenEpoch, grant: grant, use))
    }

    /// The current era.
    package var signInEra: SignInEra { SignInEra(tokens: era, ends: grants?.sessionEnds ?? SessionEnds()) }

    /// Returns whether a ticket or sign-in from a past era may still admit someone.
    ///
    /// - Parameter viewer: the viewer who signs in; nil for the owner.
    package func isInForce(_ begun: SignInEra, for viewer: ViewerID?) -> Bool {
        let now = signInEra
        return now.tokens == begun.tokens && now.ends.isSame(as: begun.ends, for: viewer)
    }
}
