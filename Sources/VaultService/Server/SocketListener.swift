import CoreMetrics
import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle
import VaultModel

/// A socket file. It is identified by device and inode, because another file may take its name.
struct SocketFile: Hashable, Sendable {
    private let path: String
    private let device: UInt64
    private let number: UInt64

    /// Identifies the socket at a path; returns nil if there is none.
    init?(path: String) {
        guard let stamp = FileStamp(socketAt: path) else { return nil }
        self.path = path
        device = stamp.device
        number = stamp.number
    }

    /// Renames a socket within its folder, so that only its owner can connect.
    ///
    /// The operator may later change the file's mode to let other users connect.
    ///
    /// - Throws: `IOError`, for example with `EEXIST` if the name is taken.
    init(moving draft: String, to path: String) throws {
        defer { _ = unsafe unlink(draft) }
        guard unsafe chmod(draft, 0o600) == 0, unsafe link(draft, path) == 0, let file = Self(path: path) else {
            throw IOError(errnoCode: errno, reason: "link")
        }
        self = file
    }

    /// Removes the socket after its listener has ended, unless another file has taken its place.
    func remove() {
        if Self(path: path) == self { _ = unsafe unlink(path) }
    }

    /// Removes a socket that a killed program left at a path.
    ///
    /// - Throws: `IOError` with `EADDRINUSE` if a program listens on the socket, `IOError` with the system's error if
    ///   this cannot be determined, or `SocketAddressError` if the path is too long for a socket.
    static func removeStale(at path: String) throws {
        let file = Self(path: path)
        let address = try SocketAddress(unixDomainSocketPath: path)
        #if canImport(Darwin)
        let kind = SOCK_STREAM
        #else
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        #endif
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        defer { close(descriptor) }
        // If the listener's queue is full, `connect` fails at once instead of waiting.
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let error = unsafe address.withSockAddr { unsafe connect(descriptor, $0, socklen_t($1)) == 0 ? 0 : errno }
        switch error {
        // No program listens.
        case ENOENT, ECONNREFUSED, ENOTSOCK: file?.remove()
        // A program listens, perhaps with a full queue (`EAGAIN`) or on another type of socket (`EPROTOTYPE`).
        case 0, EAGAIN, EPROTOTYPE: throw IOError(errnoCode: EADDRINUSE, reason: "connect")
        default: throw IOError(errnoCode: error, reason: "connect")
        }
    }
}

/// Listens on a socket file while the service runs. It behaves like the port, with the same time limits for
/// connections.
///
/// Only the owner of the file can connect.
struct SocketListener<Responder: HTTPResponder>: Service where Responder.Context == ServiceContext {
    let path: String
    let responder: Responder
    /// The responder that answers cache hits; nil to leave all requests to ``responder``.
    var held: CacheHitResponder?
    let configuration: ServiceConfiguration
    let logger: Logger
    /// The meter that counts the open connections.
    let meter: Meter
    /// Called once the socket listens.
    let onListening: @Sendable () -> Void

    /// The maximum number of open connections, which suffices for the players and commands of a few users.
    private static var maxConnections: Int { 128 }

    /// - Throws: the system's error if the socket cannot listen, for example because another program listens there.
    func run() async throws {
        try SocketFile.removeStale(at: path)
        let draft = SocketName.draft(beside: path)
        let (bound, binds) = AsyncStream.makeStream(of: Never.self)
        let connections = OpenConnections(
            most: Self.maxConnections, limits: configuration.connectionLimits, countedBy: meter,
            afterPeak: configuration.afterPeak)
        let application = Application(
            responder: responder, server: connections.server(answering: held?.makeHandler),
            configuration: ApplicationConfiguration(
                address: .unixDomainSocket(path: draft),
                availableConnectionsDelegate: OpenConnections.Admission(connections: connections)),
            onServerRunning: { _ in binds.finish() },
            logger: logger)
        let name = SocketName(path: path, draft: draft, bound: bound, onListening: onListening)
        try await Listeners(all: [application, connections, name]).run()
    }

    /// Returns the reason why the socket cannot listen, in a few words.
    static func reason(_ error: any Error) -> String {
        (error as? IOError).map { ListenFailure.reason($0.errnoCode) } ?? "the path is too long for a socket"
    }
}

/// The service that makes a listening socket available at its public name.
///
/// When the HTTP library ends, it removes any socket at the path that it bound. The library therefore binds a private
/// path, so that it cannot remove a socket that another program has created at the public name.
struct SocketName: Service {
    let path: String
    /// The private path at which the socket is bound.
    let draft: String
    /// A stream that ends once the socket listens.
    let bound: AsyncStream<Never>
    /// Called once clients can connect at the public name.
    let onListening: @Sendable () -> Void

    /// - Throws: `IOError` if the socket cannot be renamed.
    func run() async throws {
        for await _ in bound {}
        // The listener may have failed.
        try Task.checkCancellation()
        let file = try SocketFile(moving: draft, to: path)
        defer { file.remove() }
        onListening()
        try? await gracefulShutdown()
    }

    /// Returns a random name in the folder of a path.
    static func draft(beside path: String) -> String {
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        return "\(folder).\(String(UInt32.random(in: 0 ... .max), radix: 16))"
    }
}

/// The service that serves the same content on a socket file as on the service's port.
///
/// Only users who may open the file can connect.
struct MediaSocket: Service {
    let path: String
    let responder: ServiceResponder
    let configuration: ServiceConfiguration
    let logger: Logger
    /// Called once the socket listens, or has ended without a failure.
    let onSettled: @Sendable () -> Void

    func run() async throws {
        let listener = SocketListener(
            path: path, responder: responder, held: CacheHitResponder(responder, logger: logger),
            configuration: configuration, logger: logger, meter: responder.api.metrics.connections(of: "media"),
            onListening: onSettled)
        do {
            try await listener.run()
            onSettled()
        } catch let error where !(error is CancellationError) {
            throw VaultError(
                .storage,
                "cannot create the media socket \(path) (\(SocketListener<ServiceResponder>.reason(error))); "
                    + Self.remedy(error))
        }
    }

    private static func remedy(_ error: any Error) -> String {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE, EEXIST: "stop the program that listens there, or choose another path"
        case ENOENT, ENOTDIR: "create the folder, or choose another path"
        case EACCES, EPERM: "choose a path in a folder that you own"
        default: "choose another path, of at most 80 bytes"
        }
    }
}
