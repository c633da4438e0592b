import Foundation
import HTTPTypes
import MediaVault
import VaultModel

/// The credential that a request presents.
enum RequestCredential: Hashable {
    case none
    /// A token in the `Authorization` field.
    case token(String)
    /// A ticket in the query, for the event feed.
    case ticket(String)
    /// A session's cookie and proof.
    case session(SessionSecret)

    /// - Parameters:
    ///   - authorization: the values of the `Authorization` fields.
    ///   - target: the request's target. Only the event feed's target can contain a ticket.
    ///   - session: the session secret in the browser's fields.
    init(authorization: [String], target: String, route: Route, session: SessionSecret? = nil) {
        if authorization.count == 1, let token = BearerToken.read(authorization[0]) {
            self = .token(token)
        } else if authorization.isEmpty, route == .api(.events),
            let ticket = URLComponents(string: target)?.queryItems?.first(where: { $0.name == "ticket" })?.value
        {
            self = .ticket(ticket)
        } else if authorization.isEmpty, let session {
            self = .session(session)
        } else {
            self = authorization.isEmpty ? .none : .token("")
        }
    }
}

/// The token of an `Authorization` field (RFC 6750 §2.1).
enum BearerToken {
    /// Returns the token; nil if the field is absent or does not contain a token.
    static func read(_ authorization: String?) -> String? {
        guard let authorization, let blank = authorization.firstIndex(of: " "),
            authorization[..<blank].isEqualIgnoringCase("Bearer")
        else { return nil }
        return String(authorization[blank...].trimmingBlanks())
    }
}

/// The cookie of a session (RFC 6265bis), and the field that carries the session's proof.
struct SessionCookie: Hashable, Sendable {
    /// The name of the cookie.
    let name: String
    /// The name of the cookie that shows which viewers have signed in with a browser.
    private let deviceName: String
    private let isSecure: Bool

    /// - Parameters:
    ///   - port: the service's port, which is part of the cookies' names. Browsers send a cookie to every port of its
    ///     host, so the services on one machine need different names.
    ///   - isSecure: whether the service uses TLS.
    init(port: Int, isSecure: Bool) {
        name = (isSecure ? "__Host-" : "") + "mediavault-\(port)"
        deviceName = (isSecure ? "__Secure-" : "") + "mediavault-device-\(port)"
        self.isSecure = isSecure
    }

    /// Returns the session secret that a request presents; nil unless the request has exactly one proof, and a cookie
    /// that matches the proof.
    func secret(in fields: HTTPFields) -> SessionSecret? {
        guard let name = HTTPField.Name.sessionProof else { return nil }
        let proofs = fields[values: name]
        guard proofs.count == 1,
            let cookie = values(in: fields[values: .cookie]).first(where: { Self.areOfOneSession($0, proofs[0]) })
        else { return nil }
        return SessionSecret(cookie: cookie, proof: proofs[0])
    }

    /// Returns whether a cookie and a proof belong to the same session. In both, the session's id follows a prefix of
    /// four characters, and the id's first 21 base64 characters encode nothing else.
    private static func areOfOneSession(_ cookie: String, _ proof: String) -> Bool {
        func id(_ text: String) -> [UInt8] { Array(text.utf8.dropFirst(4).prefix(21)) }
        return cookie.utf8.count == proof.utf8.count && id(cookie) == id(proof)
    }

    /// Returns all of the cookie's values in the `Cookie` fields. There may be several, because another service on the
    /// same host may have set cookies of the same name with other paths, which browsers send first.
    func values(in fields: [String]) -> [String] { values(of: name, in: fields) }

    private func values(of name: String, in fields: [String]) -> [String] {
        fields.flatMap { $0.split(separator: ";") }.compactMap { pair -> String? in
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, sides[0].trimmingBlanks() == name else { return nil }
            return String(sides[1].trimmingBlanks())
        }
    }

    /// Returns the value of `Set-Cookie` that sets the cookie.
    ///
    /// - Parameter lifetime: how long the browser keeps the cookie, in seconds.
    func begun(_ value: String, lifetime: Int64) -> String {
        "\(name)=\(value); Path=/; Max-Age=\(lifetime); HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
    }

    /// Returns the marks that show which viewers have signed in with the browser.
    func marks(in fields: HTTPFields) -> [DeviceMark] {
        values(of: deviceName, in: fields[values: .cookie]).compactMap { DeviceMark($0) }
    }

    /// Returns the value of `Set-Cookie` that marks a viewer as having signed in with the browser. The cookie outlives
    /// the session, and browsers send it only to the route on which sessions begin.
    func marked(_ mark: DeviceMark) -> String {
        "\(deviceName)=\(mark.text); Path=\(APIRoute.sessions.path); Max-Age=\(Self.deviceLifetime); HttpOnly; "
            + "SameSite=Strict" + (isSecure ? "; Secure" : "")
    }

    /// How long a browser keeps the mark, in seconds. Browsers keep no cookie for longer than 400 days.
    private static let deviceLifetime = 400 * 86_400

    /// The value of `Set-Cookie` that deletes the cookie.
    var ended: String { begun("", lifetime: 0) }
}

extension HTTPField.Name {
    /// The field in which a page sends its session's proof.
    static let sessionProof = HTTPField.Name("X-Session-Proof")
}
