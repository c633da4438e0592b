import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Who is at the other end of a socket of this machine, as the kernel knows it.
enum PeerIdentity {
    /// Whether that is the user of this process, or root.
    static func mayControl(_ channel: any Channel) async -> Bool {
        guard let user = await user(of: channel) else { return false }
        return user == 0 || user == geteuid()
    }

    #if os(Linux)
    /// The kernel's `struct ucred`, which the C library shows to few.
    private struct Credentials {
        let process: pid_t
        let user: uid_t
        let group: gid_t
    }
    #endif

    private static func user(of channel: any Channel) async -> uid_t? {
        guard let socket = channel as? any SocketOptionProvider else { return nil }
        #if os(Linux)
        // The kernel fills a structure of this size.
        let peer: Credentials? = try? await socket.unsafeGetSocketOption(
            level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
        ).get()
        return peer?.user
        #else
        // What getpeereid asks, of a connection whose descriptor nobody hands out.
        let peer: xucred? = try? await socket.unsafeGetSocketOption(
            level: NIOBSDSocket.OptionLevel(rawValue: SOL_LOCAL), name: NIOBSDSocket.Option(rawValue: LOCAL_PEERCRED)
        ).get()
        return peer.flatMap { $0.cr_version == XUCRED_VERSION ? $0.cr_uid : nil }
        #endif
    }
}
