#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A limit that the system sets to what this process may use, as `ulimit` shows them.
package enum SystemLimit: CaseIterable, Sendable {
    /// The number of open files.
    case files
    /// The bytes of addresses, with those that are only reserved.
    case addresses
    /// The bytes of memory that is written and not of a file.
    case data
    /// The bytes of the stack, and so of each thread's.
    case stack
    /// The number of threads of the user, on other systems than Linux that of processes.
    case threads

    /// The limit in force, `Int.max` without one; nil if the system does not say it.
    package var current: Int? { limits.map { Int(clamping: $0.rlim_cur) } }

    /// Raises the limit in force to `wanted`, as far as the system allows it.
    package func raise(to wanted: Int) {
        guard var limits, limits.rlim_cur < wanted, limits.rlim_max > limits.rlim_cur else { return }
        limits.rlim_cur = min(limits.rlim_max, rlim_t(wanted))
        // If that is refused, the limit stays what it was, and applies.
        _ = unsafe setrlimit(resource, &limits)
    }

    private var limits: rlimit? {
        var limits = rlimit()
        return unsafe getrlimit(resource, &limits) == 0 ? limits : nil
    }

    #if canImport(Glibc)
    private var resource: __rlimit_resource_t {
        switch self {
        case .files: __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        case .addresses: __rlimit_resource_t(RLIMIT_AS.rawValue)
        case .data: __rlimit_resource_t(RLIMIT_DATA.rawValue)
        case .stack: __rlimit_resource_t(RLIMIT_STACK.rawValue)
        case .threads: __rlimit_resource_t(__RLIMIT_NPROC.rawValue)
        }
    }
    #else
    private var resource: Int32 {
        switch self {
        case .files: RLIMIT_NOFILE
        case .addresses: RLIMIT_AS
        case .data: RLIMIT_DATA
        case .stack: RLIMIT_STACK
        case .threads: RLIMIT_NPROC
        }
    }
    #endif
}
