import HTTPTypes
import MediaVault
import NIOCore
import VaultModel

/// The decision on a request, made from its head. It states whether to answer the request, and which media is
/// requested.
///
/// ``RequestGate`` makes the decision once, and the decision is passed along with the request to the code that answers.
/// It is an object because an idle connection keeps the stack frames of its last answer, which copies of a large value
/// would enlarge.
final class RequestAdmission: Sendable {
    /// The only request to which the decision applies.
    let request: HTTPRequest
    let route: Route
    let verdict: RequestGate.Verdict
    /// The requested media; nil unless the request was admitted and its capability is valid.
    let media: RequestedMedia?
    let arrival: ContinuousClock.Instant
    /// The time of arrival, in seconds since 1970.
    let now: Int64

    init(
        request: HTTPRequest, route: Route, verdict: RequestGate.Verdict, media: RequestedMedia?,
        arrival: ContinuousClock.Instant, now: Int64
    ) {
        (self.request, self.route, self.verdict, self.media) = (request, route, verdict, media)
        (self.arrival, self.now) = (arrival, now)
    }
}

/// The media that is requested with a valid capability.
final class RequestedMedia: Sendable {
    let request: MediaRequest
    let link: TokenIssuer.Admission
    /// The requested bytes, if they are held and can be opened at once. The responder does not look them up again.
    let held: HeldMedia?

    init(request: MediaRequest, link: TokenIssuer.Admission, held: HeldMedia?) {
        (self.request, self.link, self.held) = (request, link, held)
    }
}

/// A target whose capability was verified, kept for the next request on the same connection.
struct VerifiedTarget: Sendable {
    let target: String
    let link: TokenIssuer.Admission
}

extension RequestGate {
    /// Decides whether to answer a request, and verifies the capability in its target.
    ///
    /// - Parameters:
    ///   - listener: the address at which the request arrived.
    ///   - verified: the verified target of the connection's last request. It is verified again only if necessary.
    func admit(
        _ request: HTTPRequest, at listener: SocketAddress?, _ verified: inout VerifiedTarget?
    ) -> RequestAdmission {
        let (arrival, now) = (ContinuousClock.now, vault.now)
        let target = request.path ?? ""
        let route = Route(target: target)
        let verdict = verdict(on: request, about: route, at: listener)
        var media: RequestedMedia?
        if case .admitted = verdict, route == .media, let method = MediaRequest.Method(request.method),
            let link = link(in: target, now, &verified)
        {
            let asked = MediaRequest(method, request.headerFields, now: now)
            var held: HeldMedia?
            if let resource = link.resource, let range = asked.immediateRange {
                held = vault.playback.held(resource, range: range)
            }
            media = RequestedMedia(request: asked, link: link, held: held)
        }
        return RequestAdmission(
            request: request, route: route, verdict: verdict, media: media, arrival: arrival, now: now)
    }

    /// Returns whether an earlier decision still holds. The link may have expired or been revoked since, or the vault
    /// may have been locked.
    func holds(_ admission: RequestAdmission) -> Bool {
        guard let media = admission.media else { return true }
        return vault.playback.isValid(media.link, now: vault.now)
    }

    /// Returns the admission that a target's capability grants; nil if the capability is invalid.
    private func link(
        in target: String, _ now: Int64, _ verified: inout VerifiedTarget?
    ) -> TokenIssuer.Admission? {
        if let verified, verified.target == target, vault.playback.isValid(verified.link, now: now) {
            return verified.link
        }
        verified = vault.playback.admission(ofTarget: target, now: now).map { VerifiedTarget(target: target, link: $0) }
        return verified?.link
    }
}

extension MediaRequest.Method {
    /// - Returns: nil for a method that requests no media.
    fileprivate init?(_ method: HTTPRequest.Method) {
        switch method {
        case .get: self = .get
        case .head: self = .head
        default: return nil
        }
    }
}
