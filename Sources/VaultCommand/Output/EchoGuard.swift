#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Switches a terminal's echo off, and on again whatever ends the process meanwhile.
///
/// It handles the signals itself: Dispatch, once it has watched a signal and let go of it, does not hand it over a second
/// time, and the service needs it later. There is one at a time.
struct EchoGuard: ~Copyable {
    private let device: Int32
    private let shown: termios
    private var earlier: [(number: Int32, action: sigaction)] = []

    /// Nil where the device is no terminal.
    init?(_ device: Int32) {
        var settings = termios()
        guard unsafe tcgetattr(device, &settings) == 0 else { return nil }
        self.device = device
        shown = settings
        // The handler is installed after this, and finds what it needs.
        unsafe shownByHandler = (device, settings)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            earlier.append((number, Self.replaceAction(of: number) { Self.restore(number: $0) }))
        }
        // Being stopped is left for later.
        earlier.append((SIGTSTP, Self.replaceAction(of: SIGTSTP, SIG_IGN)))
        settings.c_lflag &= ~tcflag_t(ECHO)
        _ = unsafe tcsetattr(device, TCSAFLUSH, &settings)
    }

    deinit {
        Self.show(shown, device)
        for (number, action) in earlier {
            var action = action
            _ = unsafe sigaction(number, &action, nil)
        }
    }

    private static func replaceAction(
        of number: Int32, _ handler: (@convention(c) (Int32) -> Void)?
    ) -> sigaction {
        var action = sigaction()
        #if canImport(Darwin)
        unsafe action.__sigaction_u.__sa_handler = handler
        #else
        unsafe action.__sigaction_handler.sa_handler = handler
        #endif
        var earlier = sigaction()
        _ = unsafe sigaction(number, &action, &earlier)
        return earlier
    }

    /// Runs within a signal: both calls are among those that are safe there.
    private static func restore(number: Int32) {
        let (device, settings) = unsafe shownByHandler
        show(settings, device)
        _exit(128 + number)
    }

    private static func show(_ settings: termios, _ device: Int32) {
        var settings = settings
        _ = unsafe tcsetattr(device, TCSAFLUSH, &settings)
        _ = unsafe write(device, "\n", 1)
    }
}

// Read by the signal handler, which can take no lock; written before the handler is installed.
nonisolated(unsafe) private var shownByHandler: (device: Int32, settings: termios) = (-1, termios())
