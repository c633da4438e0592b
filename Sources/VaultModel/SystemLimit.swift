#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A limit that the system sets on a resource of this process, as `ulimit` shows it.
package enum SystemLimit: CaseIterable, Sendable {
    /// The number of open files.
    case files
    /// The number of bytes of address space, including space that is only reserved.
    case addresses
    /// The number of bytes of writable memory that no file backs.
    case data
    /// The number of bytes of the stack, and therefore of each thread's stack.
    case stack
    /// The number of the user's threads or, on systems other than Linux, of the user's processes.
    case threads

    /// The limit in force; `Int.max` if there is none, nil if the system does not report it.
    package var current: Int? { limits.map { Int(clamping: $0.rlim_cur) } }

    /// Raises the limit in force to `wanted`, as far as the system allows.
    package func raise(to wanted: Int) {
        guard var limits, limits.rlim_cur < wanted, limits.rlim_max > limits.rlim_cur else { return }
        limits.rlim_cur = min(limits.rlim_max, rlim_t(wanted))
        // If the system refuses, the old limit stays in force.
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
