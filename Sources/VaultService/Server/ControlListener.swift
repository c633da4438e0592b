import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Listens on the control socket, which is `control.sock` in the vault's folder, while the service runs.
///
/// A service that cannot create the socket still serves media, but commands that change the vault must wait until the
/// service ends.
struct ControlListener: Service {
    let api: APIResponder
    /// The vault's folder.
    let folder: String
    let configuration: ServiceConfiguration
    let logger: Logger
    /// Called when the socket listens, or when it is certain that the socket never will.
    let onSettled: @Sendable () -> Void

    func run() async throws {
        guard let address = ControlAddress(folder: folder) else {
            return try await serveWithoutSocket("the path of the vault's folder is too long for a socket")
        }
        let listener = SocketListener(
            path: address.path, responder: ControlResponder(api: api), configuration: configuration, logger: logger,
            meter: api.metrics.connections(of: "control"), onListening: onSettled)
        do {
            try await listener.run()
        } catch let error where !(error is CancellationError) {
            try await serveWithoutSocket(SocketListener<ControlResponder>.reason(error))
        }
    }

    private func serveWithoutSocket(_ reason: String) async throws {
        logger.notice(
            "cannot create control.sock in the vault's folder; changes to the vault must wait until this service ends",
            metadata: ["reason": "\(reason)"])
        onSettled()
        try await gracefulShutdown()
    }
}

/// Answers requests on the control socket. It serves the API and the metrics without a token, but no playback links.
///
/// It answers only root and the user that the service runs as.
struct ControlResponder: HTTPResponder {
    let api: APIResponder

    func respond(to request: Request, context: ServiceContext) async throws -> Response {
        let isHead = request.method == .head
        var context = context
        context.isControl = true
        let route = Route(target: request.head.path ?? "")
        let open = context.begin("\(request.method)", route, api.metrics)
        var response = await answer(to: request, about: route, isHead, context)
        response.headers[.requestID] = "\(open.id)"
        return response
    }

    private func answer(
        to request: Request, about route: Route, _ isHead: Bool, _ context: ServiceContext
    ) async -> Response {
        do {
            guard await PeerIdentity.mayControl(context.channel) else {
                return Response(ErrorAnswer.foreignUser, isHead: isHead, context: context)
            }
            guard Methods.areKnown(request.method.rawValue) else {
                return Response(ErrorAnswer.unknownMethod, isHead: isHead, context: context)
            }
            switch route {
            case .api(let route): return try await api.respond(to: request, about: route, context: context)
            case .metrics: return try await api.monitoring.showMetrics(to: request, context: context)
            default:
                return Response(
                    ErrorAnswer.notFound(target: request.head.path ?? ""), isHead: isHead, context: context)
            }
        } catch {
            // The client is gone, or the service is shutting down, so no answer is needed.
            context.logger.debug("abandoned", metadata: ["reason": "\(type(of: error))"])
            return .abandoned(context: context)
        }
    }
}

/// The identity of the user at the other end of a local socket, as the kernel reports it.
enum PeerIdentity {
    /// Returns whether the peer is the user that this process runs as, or root.
    static func mayControl(_ channel: any Channel) async -> Bool {
        guard let user = await user(of: channel) else { return false }
        return mayControl(user, serviceOf: geteuid())
    }

    /// Returns whether a user may control the service of `owner`. Root may control any service, and others only their
    /// own.
    static func mayControl(_ user: uid_t, serviceOf owner: uid_t) -> Bool { user == 0 || user == owner }

    #if os(Linux)
    /// The kernel's `struct ucred`, which C libraries do not always expose.
    private struct Credentials {
        let process: pid_t
        let user: uid_t
        let group: gid_t
    }
    #endif

    private static func user(of channel: any Channel) async -> uid_t? {
        guard let socket = channel as? any SocketOptionProvider else { return nil }
        #if os(Linux)
        // The kernel writes a structure of this type.
        let peer: Credentials? = try? await socket.unsafeGetSocketOption(
            level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
        ).get()
        return peer?.user
        #else
        // `getpeereid` reads the same option, but needs the connection's descriptor, which is not accessible here.
        let peer: xucred? = try? await socket.unsafeGetSocketOption(
            level: NIOBSDSocket.OptionLevel(rawValue: SOL_LOCAL), name: NIOBSDSocket.Option(rawValue: LOCAL_PEERCRED)
        ).get()
        return peer.flatMap { $0.cr_version == XUCRED_VERSION ? $0.cr_uid : nil }
        #endif
    }
}
