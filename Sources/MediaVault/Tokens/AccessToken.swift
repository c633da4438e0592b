import VaultCrypto
import VaultModel

/// A token: the prefix `mvt_`, then base64url of its grant's id and a mac.
///
/// The mac is for the id, the scope and the expiry, so that no other record can make more of a token.
struct AccessToken: Hashable {
    let grant: GrantID
    /// 32 bytes under the token key.
    let mac: [UInt8]

    /// By which people and programs that look for leaked secrets know it.
    static let prefix = "mvt_"
    private static let macByteCount = 32
    private static let textLength = prefix.utf8.count + (GrantKind.byteCount + macByteCount) / 3 * 4

    init(grant: GrantID, mac: [UInt8]) { (self.grant, self.mac) = (grant, mac) }

    /// Parses exactly the text that ``text`` writes.
    init?(_ text: String) {
        guard text.utf8.count == Self.textLength, text.utf8.starts(with: Self.prefix.utf8),
            let bytes = Base64.decodeFromURL(String(Substring(text.utf8.dropFirst(Self.prefix.utf8.count)))),
            bytes.count == GrantKind.byteCount + Self.macByteCount,
            let grant = GrantID(bytes: Array(bytes.prefix(GrantKind.byteCount)))
        else { return nil }
        self.init(grant: grant, mac: Array(bytes.dropFirst(GrantKind.byteCount)))
    }

    var text: String { Self.prefix + Base64.encodeForURL(grant.bytes + mac) }

    /// Returns the input of the mac.
    static func message(epoch: Int64, grant: AccessGrant, scope: AccessScope) -> [UInt8] {
        let expiry = grant.expires.map { String($0) } ?? "never"
        return MACMessage.bytes(
            [Array(String(epoch).utf8), grant.id.bytes, Array(scope.rawValue.utf8), Array(expiry.utf8)])
    }
}

/// What a request with a valid token may do.
package struct TokenAccess: Hashable, Sendable {
    let grant: GrantID
    /// What it allows.
    package let scope: AccessScope
}

extension TokenIssuer {
    /// Returns what a token allows; nil unless the vault has issued it, and it is neither revoked nor expired.
    ///
    /// The time does not depend on how much of the token is correct.
    ///
    /// - Parameters:
    ///   - text: the token.
    ///   - now: seconds since 1970.
    public func scope(ofToken text: String, now: Int64) -> AccessScope? { access(byToken: text, now: now)?.scope }

    /// Does the same as ``scope(ofToken:now:)``, and records that the token was used.
    package func access(byToken text: String, now: Int64) -> TokenAccess? {
        guard let token = AccessToken(text), let grant = grants?.grant(token.grant),
            case .token(let scope) = grant.kind,
            ConstantTime.areEqual(mac(of: grant, scope), token.mac), grant.era == era, grant.isCurrent(at: now)
        else { return nil }
        grants?.noteUse(of: grant, now: now)
        return TokenAccess(grant: grant.id, scope: scope)
    }

    /// Returns whether a token that was accepted before still would be.
    package func isValid(_ access: TokenAccess, now: Int64) -> Bool {
        guard let grant = grants?.grant(access.grant) else { return false }
        return grant.era == era && grant.isCurrent(at: now)
    }

    /// Returns the token of a grant.
    func token(of grant: AccessGrant, _ scope: AccessScope) -> String {
        AccessToken(grant: grant.id, mac: mac(of: grant, scope)).text
    }

    /// Names the token key and the epoch in use: what was made with others is void.
    var era: [UInt8] {
        Array(keyring.token(.tokenEra, LittleEndian.bytes(UInt64(keyring.tokenEpoch))).prefix(Self.eraByteCount))
    }

    private static var eraByteCount: Int { 16 }

    private func mac(of grant: AccessGrant, _ scope: AccessScope) -> [UInt8] {
        keyring.token(.token, AccessToken.message(epoch: keyring.tokenEpoch, grant: grant, scope: scope))
    }
}
