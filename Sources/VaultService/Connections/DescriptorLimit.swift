import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// How many files and connections the system lets this process have open.
package enum DescriptorLimit {
    /// With fewer the service does not begin.
    private static let least = 64
    /// More than this is not asked for.
    private static let wanted = 4096

    /// Asks for as many as the system allows, within reason.
    ///
    /// - Throws: ``VaultError`` where there are too few to serve anybody.
    package static func raise() throws {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return }
        if limit.rlim_cur < wanted, limit.rlim_max > limit.rlim_cur {
            limit.rlim_cur = min(limit.rlim_max, rlim_t(wanted))
            // Where that is refused the limit stays what it was, and is kept to.
            _ = unsafe setrlimit(resource, &limit)
        }
        let number = current
        guard number >= least else {
            throw VaultError(
                .storage, "the system lets the service open \(number) files and it needs \(least); raise ulimit -n")
        }
    }

    /// How many clients' connections fit: each may need a connection to an origin, and a file for what comes by it, as well,
    /// and some segments stay open a moment longer.
    static var connections: Int { OpenFiles.connections(of: current) }

    private static var current: Int {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return least }
        return Int(clamping: limit.rlim_cur)
    }

    #if canImport(Glibc)
    private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
    #else
    private static var resource: Int32 { RLIMIT_NOFILE }
    #endif
}
