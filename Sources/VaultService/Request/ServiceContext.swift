import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import NIOCore
import VaultModel

extension VaultError {
    /// Whether the error means that a keyring could not be unlocked.
    fileprivate var isFailedUnlock: Bool {
        [.wrongKey, .damagedKeyring, .tamperedKeyring, .foreignKeyring, .looseKeyFile].contains(code)
    }
}

/// The context of a request, such as its connection, logger and metrics.
struct ServiceContext: InitializableFromSource {
    let channel: any Channel
    private(set) var request: OpenRequest?
    /// Whether the request came through the control socket.
    var isControl = false
    /// The access that the request's token or session grants; nil on the control socket, and for requests that need no
    /// credential.
    var access: TokenAccess?
    /// The sign-in era in which the request's ticket was created on the control socket; nil for other requests.
    var era: SignInEra?
    /// The listener's session cookie; nil if no browser can sign in there.
    var cookie: SessionCookie?
    /// The viewer who has signed in; nil if the request comes from the owner, presents a token, or uses the control
    /// socket.
    var viewer: ViewerID?
    private let source: Logger

    /// The routes on which a client names a secret that unlocks a keyring.
    private static let unlocking = Set([APIRoute.keyring, .rotations].map { Route.api($0).word })

    init(source: ApplicationRequestContextSource) {
        channel = source.channel
        self.source = source.logger
    }

    /// Whether the request has the rights of an admin.
    var isAdmin: Bool { viewer == nil && (isControl || access?.scope == .admin) }

    /// A logger whose lines contain the request's id. It is created on demand because most answers log nothing.
    var logger: Logger {
        var logger = source
        // The HTTP library's own request id is removed, so that a line does not contain two ids.
        logger[metadataKey: "hb.request.id"] = nil
        if let request { logger[metadataKey: "request"] = "\(request.id)" }
        return logger
    }

    /// Assigns an id to the request, and begins to count the request.
    ///
    /// - Parameter arrival: when the request arrived.
    mutating func begin(
        _ method: String, _ route: Route, _ metrics: ServiceMetrics, at arrival: ContinuousClock.Instant = .now
    ) -> OpenRequest {
        // A client may send any word as its method, so unknown methods are counted together.
        let request = OpenRequest(
            Methods.areKnown(method) ? method : "other", route.word, isFeed: route == .api(.events), metrics,
            at: arrival)
        self.request = request
        return request
    }

    /// Counts and logs an answer.
    ///
    /// - Parameter cacheStatus: how the answer's media was obtained; nil if the answer carries no media.
    func log(status: Int, bytes: Int64, of cacheStatus: CacheStatus? = nil) {
        guard let request else { return }
        request.metrics.answered(status, request.method, on: request.route, bytes: bytes, of: cacheStatus)
        guard source.logLevel <= .info else { return }
        logger.info("answered", metadata: request.metadata(status: status, bytes: bytes, of: cacheStatus))
    }

    /// Counts and logs the error that prevented an answer or cut it short.
    func failed(_ error: VaultError) {
        request?.metrics.failed(error.code)
        // On other routes, an error with one of these codes means that the service's own keyring lacks a key.
        if let route = request?.route, Self.unlocking.contains(route), error.isFailedUnlock {
            logger.notice("an unlock failed", metadata: ["reason": "\(error.code)", "route": "\(route)"])
        }
        guard source.logLevel <= .debug else { return }
        logger.debug("failed", metadata: ["reason": "\(error.code)"])
    }
}
