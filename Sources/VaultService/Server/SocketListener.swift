import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle
import VaultModel

/// A socket in the file system, known again whatever has taken its name since.
struct SocketFile: Hashable, Sendable {
    private let path: String
    private let device: UInt64
    private let number: UInt64

    /// The one that stands at a path now; nil where there is none.
    init?(path: String) {
        var facts = stat()
        guard unsafe lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFSOCK else { return nil }
        self.path = path
        device = UInt64(truncatingIfNeeded: facts.st_dev)
        number = UInt64(facts.st_ino)
    }

    /// Gives a socket another name in its folder, at which nobody but its owner connects:
    /// whoever shall as well is let in by the operator.
    ///
    /// - Throws: `IOError`, such as one with `EEXIST` where anything has that name.
    init(moving draft: String, to path: String) throws {
        defer { _ = unsafe unlink(draft) }
        guard unsafe chmod(draft, 0o600) == 0, unsafe link(draft, path) == 0, let file = Self(path: path) else {
            throw IOError(errnoCode: errno, reason: "link")
        }
        self = file
    }

    /// Removes it, its listener having ended; what stands in its place by now is not ours.
    func remove() {
        if Self(path: path) == self { _ = unsafe unlink(path) }
    }

    /// Removes the socket that a killed program has left at a path.
    ///
    /// - Throws: `IOError` with `EADDRINUSE` where a program listens there, and with what the system says where it does
    ///   not tell; `SocketAddressError` where the path is too long for a socket.
    static func removeLeft(at path: String) throws {
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
        // Where many wait to be accepted, one more is told so in place of waiting.
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let error = unsafe address.withSockAddr { unsafe connect(descriptor, $0, socklen_t($1)) == 0 ? 0 : errno }
        switch error {
        // Nobody listens.
        case ENOENT, ECONNREFUSED, ENOTSOCK: file?.remove()
        // A socket of another kind has a listener as well.
        case 0, EAGAIN, EPROTOTYPE: throw IOError(errnoCode: EADDRINUSE, reason: "connect")
        default: throw IOError(errnoCode: error, reason: "connect")
        }
    }
}

/// Listens at a socket file as long as the service runs, with the manners and bounds of the port. Only its owner connects.
struct SocketListener<Responder: HTTPResponder>: Service where Responder.Context == ServiceContext {
    let path: String
    let responder: Responder
    /// Answers what need not be waited for, where anything is.
    var held: CacheHitResponder?
    let configuration: ServiceConfiguration
    let logger: Logger
    /// Called once it listens.
    let onListening: @Sendable () -> Void

    /// Players and commands of few users, a few at a time each.
    private static var mostConnections: Int { 128 }

    /// - Throws: what the system says where it cannot listen, such as that a program does already.
    func run() async throws {
        try SocketFile.removeLeft(at: path)
        let draft = SocketName.draft(beside: path)
        let (bound, binds) = AsyncStream.makeStream(of: Never.self)
        let connections = OpenConnections(
            most: Self.mostConnections, limits: configuration.connectionLimits, afterCrowd: configuration.afterCrowd)
        let application = Application(
            responder: responder, server: connections.server(held),
            configuration: ApplicationConfiguration(
                address: .unixDomainSocket(path: draft),
                availableConnectionsDelegate: OpenConnections.Admission(connections: connections)),
            onServerRunning: { _ in binds.finish() },
            logger: logger)
        let name = SocketName(path: path, draft: draft, bound: bound, onListening: onListening)
        try await Listeners(all: [application, connections, name]).run()
    }

    /// Why it could not listen, in a word or two.
    static func reason(_ error: any Error) -> String {
        (error as? IOError).map { ListenFailure.reason($0.errnoCode) } ?? "\(type(of: error))"
    }
}

/// Gives a socket that listens the name by which it is asked for, as long as the service runs.
///
/// In the end the HTTP library removes whatever socket stands where it has bound one. So it binds where nobody else does,
/// and what another program has meanwhile put at the name is left alone.
struct SocketName: Service {
    let path: String
    /// Where the socket is bound.
    let draft: String
    /// Ends once it listens.
    let bound: AsyncStream<Never>
    /// Called once it can be asked by its name.
    let onListening: @Sendable () -> Void

    /// - Throws: `IOError` where it cannot have the name.
    func run() async throws {
        for await _ in bound {}
        // The listener may have failed.
        try Task.checkCancellation()
        let file = try SocketFile(moving: draft, to: path)
        defer { file.remove() }
        onListening()
        try? await gracefulShutdown()
    }

    /// A name of nobody's in the folder of a path.
    static func draft(beside path: String) -> String {
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        return "\(folder).\(String(UInt32.random(in: 0 ... .max), radix: 16))"
    }
}

/// Serves by a socket file what the service serves by its port: only who may open the file can ask.
struct MediaSocket: Service {
    let path: String
    let responder: ServiceResponder
    let configuration: ServiceConfiguration
    let logger: Logger
    /// Called once it listens, or has failed.
    let onSettled: @Sendable () -> Void

    func run() async throws {
        defer { onSettled() }
        let listener = SocketListener(
            path: path, responder: responder, held: CacheHitResponder(responder, logger: logger),
            configuration: configuration, logger: logger, onListening: onSettled)
        do {
            try await listener.run()
        } catch let error where !(error is CancellationError) {
            throw VaultError(
                .storage,
                "the media socket \(path) cannot be made (\(SocketListener<ServiceResponder>.reason(error))); end what "
                    + "listens there, or name a short path in a folder of your own")
        }
    }
}
