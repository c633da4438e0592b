import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The number of files and connections that the system lets this process open.
package enum DescriptorLimit {
    /// The fewest with which the service starts.
    private static let least = 64
    /// The most that the service requests.
    private static let wanted = 4096

    /// Raises the limit as far as the system allows and the service needs.
    ///
    /// - Throws: ``VaultError`` if the limit is too low to serve any client.
    package static func raise() throws {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return }
        if limit.rlim_cur < wanted, limit.rlim_max > limit.rlim_cur {
            limit.rlim_cur = min(limit.rlim_max, rlim_t(wanted))
            // If that is refused, the limit stays what it was, and applies.
            _ = unsafe setrlimit(resource, &limit)
        }
        let number = current
        guard number >= least else {
            throw VaultError(
                .storage,
                "the system lets the service open only \(number) files, but it needs \(least); raise ulimit -n")
        }
    }

    /// The number of client connections that the limit allows.
    ///
    /// Each may also need a connection to an origin and a file for the fetched bytes, and some segments stay open a
    /// moment longer.
    static var connections: Int { DescriptorShares.connections(of: current) }

    private static var current: Int { DescriptorShares.limit ?? least }

    #if canImport(Glibc)
    private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
    #else
    private static var resource: Int32 { RLIMIT_NOFILE }
    #endif
}
