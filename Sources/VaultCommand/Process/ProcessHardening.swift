import Dispatch

#if canImport(Glibc)
import CProcess
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What a process does before it holds keys.
enum ProcessHardening {
    static func apply() {
        occupyStandardDescriptors()
        // Whatever is made is for its owner alone.
        umask(0o077)
        // No core file: it would hold keys and media.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        #if canImport(Glibc)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        // Refusal leaves a process that can be debugged by its own user: worse, but no reason to stop.
        _ = cprocess_forbid_dumps()
        #else
        _ = unsafe setrlimit(RLIMIT_CORE, &none)
        #endif
        endOnCrash()
        ignoreBrokenPipes()
    }

    /// Swift's own handler would read the memory of a process that crashes, and print registers and what they point to.
    private static func endOnCrash() {
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { _ = signal(number, SIG_DFL) }
    }

    /// A reader that goes away is an error of the write, not the end of the process.
    static func ignoreBrokenPipes() { _ = signal(SIGPIPE, SIG_IGN) }

    /// A standard descriptor that came closed would be the number of the next file opened: of the vault, perhaps.
    private static func occupyStandardDescriptors() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) == -1 {
            // Opened the wrong way round, so that using it fails as if it were closed.
            _ = unsafe open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}

/// What the process does with memory that it has let go of.
enum FreedMemory {
    /// Keeps a little of it: pieces of media come and go all the time, and to give their pages back to the system after
    /// each one, and get them anew, costs a quarter of what serving them does.
    static func keepSome() {
        #if canImport(Glibc)
        // Refusal leaves a process that is slower, and no less right.
        _ = cprocess_keep_freed_memory(2 << 20, 1 << 20)
        #endif
    }

    /// Gives back what is kept, soon.
    static func giveBack() {
        #if canImport(Glibc)
        // Between pieces that are still used there may be any number of free ones, which no bound finds.
        DispatchQueue.global(qos: .utility).async { cprocess_give_freed_memory_back() }
        #endif
    }
}
