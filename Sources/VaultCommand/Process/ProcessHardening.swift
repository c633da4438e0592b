import Dispatch

#if canImport(Glibc)
import CProcess
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Hardens the process before it holds keys.
enum ProcessHardening {
    static func apply() {
        occupyStandardDescriptors()
        // The TLS library would write the secrets of its connections to that file.
        _ = unsafe unsetenv("SSLKEYLOGFILE")
        // New files are accessible to their owner only.
        umask(0o077)
        // No core file: it would contain keys and media.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        #if canImport(Glibc)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        // If refused, other processes of the same user can debug this one: worse, but no reason to stop.
        _ = cprocess_forbid_dumps()
        #else
        _ = unsafe setrlimit(RLIMIT_CORE, &none)
        #endif
        endOnCrash()
        ignoreBrokenPipes()
    }

    /// Disables Swift's crash handler, which would read the process's memory and print registers and their targets.
    private static func endOnCrash() {
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { _ = signal(number, SIG_DFL) }
    }

    /// Ignores SIGPIPE: a closed pipe is an error of the write, not the end of the process.
    static func ignoreBrokenPipes() { _ = signal(SIGPIPE, SIG_IGN) }

    /// Opens closed standard descriptors, whose numbers the next file, perhaps of the vault, would get.
    private static func occupyStandardDescriptors() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) == -1 {
            // Opened in the wrong direction, so that using it fails as if it were closed.
            _ = unsafe open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}

/// Memory that the process has freed.
enum MemoryTrimming {
    /// Keeps some of it instead of returning it to the system.
    ///
    /// Pieces of media come and go all the time. Returning their pages after each one, and getting them again, costs a
    /// quarter of the work of serving them.
    static func keepFreedMemory() {
        #if canImport(Glibc)
        // If refused, the process is slower, but works correctly.
        _ = cprocess_set_malloc_thresholds(2 << 20, 1 << 20)
        #endif
    }

    /// Returns kept memory to the system asynchronously.
    static func giveBack() {
        #if canImport(Glibc)
        // The limits of `keepFreedMemory()` do not cover free pieces between used ones, of which there may be any number.
        DispatchQueue.global(qos: .utility).async { cprocess_release_free_memory() }
        #endif
    }
}

/// Memory that was freed, and still has what was in it.
enum FreedMemory {
    /// The most free memory that is overwritten, of all threads together: so much is in use meanwhile.
    private static let most = 64 << 20

    /// Has everything overwritten that is freed from now on; it costs too much time while media plays.
    static func overwrite() {
        #if canImport(Glibc)
        _ = cprocess_overwrite_freed_memory()
        #endif
    }

    /// Overwrites what was freed before. Blocks for some tenths of a second.
    ///
    /// A few small pieces that each thread keeps for itself are out of reach: they are overwritten when it uses them.
    ///
    /// - Parameter most: the most bytes.
    /// - Returns: how many bytes that were.
    @discardableResult
    static func wipe(atMost most: Int = most) -> Int {
        #if canImport(Glibc)
        Int(cprocess_wipe_free_memory(most))
        #else
        0
        #endif
    }
}
