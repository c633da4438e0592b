import Dispatch

#if canImport(Glibc)
import CProcess
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Hardens the process before it has any keys.
enum ProcessHardening {
    static func apply() {
        occupyStandardDescriptors()
        // The TLS library would write its connections' secrets to the file that this variable names.
        _ = unsafe unsetenv("SSLKEYLOGFILE")
        // New files are accessible only to their owner.
        umask(0o077)
        // Core files are disabled, because they would contain keys and media.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        #if canImport(Glibc)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        // If the system refuses this, other processes of the same user can debug this one, which is a drawback but not
        // fatal.
        _ = cprocess_forbid_dumps()
        #else
        _ = unsafe setrlimit(RLIMIT_CORE, &none)
        #endif
        endOnCrash()
        ignoreBrokenPipes()
    }

    /// Disables Swift's crash handler, which would read the process's memory, and print the registers and the memory
    /// that they point to.
    private static func endOnCrash() {
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { _ = signal(number, SIG_DFL) }
    }

    /// Ignores SIGPIPE, so that a closed pipe makes the write fail rather than ending the process.
    static func ignoreBrokenPipes() { _ = signal(SIGPIPE, SIG_IGN) }

    /// Opens any closed standard descriptors. Otherwise, files that are opened later, perhaps those of the vault, would
    /// get their numbers.
    private static func occupyStandardDescriptors() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) == -1 {
            // The descriptor is opened in the wrong direction, so that using it fails as if it were closed.
            _ = unsafe open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}

/// Controls how much freed memory the process keeps.
enum MemoryTrimming {
    /// Keeps some freed memory instead of returning it to the system.
    ///
    /// Pieces of media are constantly allocated and freed. Returning the memory pages after each piece, and requesting
    /// them again, would cost a quarter of the work of serving the media.
    static func keepFreedMemory() {
        #if canImport(Glibc)
        // If this is refused, the process is slower, but works correctly.
        _ = cprocess_set_malloc_thresholds(2 << 20, 1 << 20)
        #endif
    }

    /// Returns kept memory to the system asynchronously.
    static func giveBack() {
        #if canImport(Glibc)
        // This is needed because the limits that `keepFreedMemory()` sets do not cover free pieces between used ones,
        // of which there may be any number.
        DispatchQueue.global(qos: .utility).async { cprocess_release_free_memory() }
        #endif
    }
}

/// Overwrites freed memory.
enum FreedMemory {
    /// Makes the process overwrite all memory that it frees after this call. This is too slow while media is played.
    static func overwrite() {
        #if canImport(Glibc)
        _ = cprocess_overwrite_freed_memory()
        #endif
    }
}
