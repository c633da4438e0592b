#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Where the control socket of a vault is, by a path that is short enough for the address of a socket.
///
/// A folder whose path is too long is opened, and named by its descriptor: the path holds as long as this value.
final class ControlAddress: Sendable {
    /// What to bind or to connect.
    let path: String
    private let folder: Int32?

    /// Nil where no path is short enough.
    init?(folder: String) {
        let path = folder + "/control.sock"
        guard path.utf8.count > Self.mostBytes else {
            self.path = path
            self.folder = nil
            return
        }
        #if os(Linux)
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        self.path = "/proc/self/fd/\(descriptor)/control.sock"
        self.folder = descriptor
        #else
        return nil
        #endif
    }

    deinit { if let folder { close(folder) } }

    /// The bytes of `sun_path`, the zero at its end left out.
    private static let mostBytes = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
}
