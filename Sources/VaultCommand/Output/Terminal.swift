import Foundation
import MediaVault
import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The person at the terminal, if there is one. All that depends on a terminal stands in this file.
///
/// - Everything goes to standard error; results never come here.
/// - What is said begins with `mediavault: `, is one sentence, begins small and ends without a full stop.
/// - A line that is redrawn is drawn only on a terminal that can (not `TERM=dumb`), and wiped before anything is said.
/// - There is no colour, so `NO_COLOR` has nothing to switch off.
final class Terminal: Sendable {
    static let shared = Terminal()

    /// Whether a line can be drawn over itself.
    let canRedraw: Bool
    private let queue = BlockingQueue("mediavault.terminal")
    /// Whether a line stands there that the next one replaces.
    private let isDrawn = Locked(false)

    private init() {
        let kind = ProcessEnvironment.current["TERM"]
        canRedraw = isatty(STDERR_FILENO) == 1 && kind != nil && kind != "dumb"
    }

    /// Says one sentence.
    func say(_ text: String) async {
        await show(wiped(Self.printable("mediavault: " + text)) + "\n")
        isDrawn.withLock { $0 = false }
    }

    /// Draws a line over the one drawn before.
    func redraw(_ line: String) async {
        let text = wiped(Self.printable(line))
        isDrawn.withLock { $0 = true }
        await show(text)
    }

    /// Lets the line drawn last stand.
    func keepLine() async {
        let wasDrawn = isDrawn.withLock { isDrawn in
            defer { isDrawn = false }
            return isDrawn
        }
        if wasDrawn { await show("\n") }
    }

    /// The number of columns now; it changes as windows do.
    var width: Int {
        var size = winsize()
        guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Whether somebody can be asked: standard input is a terminal, and the process has one of its own.
    var canAsk: Bool {
        guard isatty(STDIN_FILENO) == 1 else { return false }
        let device = Self.openDevice()
        if device >= 0 { close(device) }
        return device >= 0
    }

    /// The most bytes of a line that is typed: what a terminal hands over at once.
    static let mostTyped = 4096

    /// Runs what waits for the person, on the terminal's own thread.
    func blocking<Value: Sendable>(_ body: @escaping @Sendable (Terminal) throws -> Value) async throws -> Value {
        try await queue.run { try body(self) }
    }

    /// Asks for a line that is not shown while it is typed. Blocks.
    ///
    /// - Returns: the number of bytes written into `memory`, without the line end; 0 at the end of input.
    func readHidden(_ question: String, into memory: UnsafeMutableRawBufferPointer) throws -> Int {
        let device = Self.openDevice()
        guard device >= 0 else { throw UsageError("there is no terminal to ask at") }
        defer { close(device) }
        guard let silence = EchoGuard(device) else { throw UsageError("there is no terminal to ask at") }
        _ = unsafe Array(question.utf8).withUnsafeBytes { unsafe write(device, $0.baseAddress, $0.count) }
        var count = 0
        repeat { count = unsafe read(device, memory.baseAddress, memory.count) } while count < 0 && errno == EINTR
        _ = consume silence
        // A line without its end was the end of input.
        guard count > 0, unsafe memory[count - 1] == 0x0A else { return 0 }
        return count - 1
    }

    /// Control characters as `?`: what an origin or an argument says must not steer the terminal.
    static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
    }

    private func wiped(_ text: String) -> String { isDrawn.withLock { $0 } ? "\r\u{1B}[K" + text : text }

    /// Writes to standard error. Where that fails there is nobody left to tell.
    private func show(_ text: String) async {
        try? await queue.run {
            _ = unsafe Array(text.utf8).withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
    }

    private static func openDevice() -> Int32 { unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) }
}

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

/// Asks for a passphrase that opens the keyring.
enum PassphrasePrompt {
    /// Which passphrase is asked for.
    enum Question: Sendable {
        /// The one that opens it now.
        case old
        /// The one that will open a new keyring.
        case first
        /// The one that will open it, too or from then on.
        case new
        case oldOfBackup
        case newForBackup

        /// Whether it is being chosen, and so is asked for twice.
        var isNew: Bool { self != .old && self != .oldOfBackup }

        fileprivate var text: String {
            switch self {
            case .old: "Passphrase: "
            case .first, .new: "New passphrase: "
            case .oldOfBackup: "Passphrase of the backup: "
            case .newForBackup: "New passphrase for the backup: "
            }
        }

        /// What to do where there is nobody to ask.
        fileprivate var remedy: String {
            switch self {
            case .old, .first:
                "nothing opens the keyring; name --key-file, --passphrase-file, --key-command or --credential"
            case .new:
                "nothing is named that will open the keyring; name --new-key-file, --new-passphrase-file, "
                    + "--new-key-command or --new-credential"
            case .oldOfBackup, .newForBackup: "the backup's passphrase is not named; name --backup-passphrase-file"
            }
        }
    }

    /// - Throws: ``UsageError`` where there is nobody to ask, nothing was typed, or the two do not agree.
    static func ask(_ question: Question) async throws -> Passphrase {
        guard Terminal.shared.canAsk else { throw UsageError(question.remedy + ", or run this at a terminal") }
        return try await Terminal.shared.blocking { terminal in
            // Both lines are typed straight into locked memory; only the first is kept.
            try unsafe Passphrase(capacity: 2 * Terminal.mostTyped) { memory in
                let first = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[..<Terminal.mostTyped])
                let second = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[Terminal.mostTyped...])
                let count = try unsafe terminal.readHidden(question.text, into: first)
                guard count > 0 else { throw UsageError("no passphrase was given") }
                guard question.isNew else { return count }
                let again = try unsafe terminal.readHidden("The same again: ", into: second)
                guard unsafe first[..<count].elementsEqual(second[..<again]) else {
                    throw UsageError("the two passphrases differ; run the command again")
                }
                return count
            }
        }
    }
}
