#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif
import VaultModel

/// How many connections to origins there may be: a share of the files that the system lets the process have open.
enum ConnectionShare {
    /// The share now: the limit may be raised meanwhile.
    static var ofProcess: Int {
        var limit = rlimit()
        #if canImport(Darwin)
        let resource = RLIMIT_NOFILE
        #else
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #endif
        guard unsafe getrlimit(resource, &limit) == 0 else { return OpenFiles.connections(of: 0) }
        // libcurl takes no larger number, and nobody has use for it.
        return min(OpenFiles.connections(of: Int(clamping: limit.rlim_cur)), 1 << 16)
    }
}
