import Foundation
import NIOCore

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
