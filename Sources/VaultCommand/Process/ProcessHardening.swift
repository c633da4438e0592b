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
        // The TLS library would write the secrets of its connections to the file that this variable names.
        _ = unsafe unsetenv("SSLKEYLOGFILE")
        // New files are accessible only to their owner.
        umask(0o077)
        // No core file: it would contain keys and media.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        #if canImport(Glibc)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        // If refused, other processes of the same user can debug this one, which is worse, but no reason to stop.
        _ = cprocess_forbid_dumps()
        #else
        _ = unsafe setrlimit(RLIMIT_CORE, &none)
        #endif
        endOnCrash()
        ignoreBrokenPipes()
    }

    /// Disables Swift's crash handler, which would read the process's memory, and print registers and the memory they
    /// point to.
    private static func endOnCrash() {
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { _ = signal(number, SIG_DFL) }
    }

    /// Ignores SIGPIPE: a closed pipe is an error of the write, not the end of the process.
    static func ignoreBrokenPipes() { _ = signal(SIGPIPE, SIG_IGN) }

    /// Opens closed standard descriptors; otherwise, the next opened file, perhaps of the vault, would get their
    /// numbers.
    private static func occupyStandardDescriptors() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) == -1 {
            // Opened in the wrong direction, so that using it fails as if it were closed.
            _ = unsafe open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}

/// Memory that the process has freed.
enum MemoryTrimming {
    /// Keeps some freed memory instead of returning it to the system.
    ///
    /// Pieces of media are allocated and freed all the time. Returning their pages after each one, and requesting them
    /// again, costs a quarter of the work of serving them.
    static func keepFreedMemory() {
        #if canImport(Glibc)
        // If refused, the process is slower, but works correctly.
        _ = cprocess_set_malloc_thresholds(2 << 20, 1 << 20)
        #endif
    }

    /// Returns the kept memory to the system asynchronously.
    static func giveBack() {
        #if canImport(Glibc)
        // The limits of `keepFreedMemory()` do not cover free pieces between used ones, of which there may be any
        // number.
        DispatchQueue.global(qos: .utility).async { cprocess_release_free_memory() }
        #endif
    }
}

/// Freed memory that still has its content.
enum FreedMemory {
    /// Makes the process overwrite all memory that it frees after this call, which is too slow while media plays.
    static func overwrite() {
        #if canImport(Glibc)
        _ = cprocess_overwrite_freed_memory()
        #endif
    }
}
