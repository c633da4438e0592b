import Foundation
import MediaVault
import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The user's terminal, if there is one. All code that depends on a terminal is in this file.
///
/// - Everything is written to standard error, which never carries results.
/// - A message starts with `mediavault: `, is one sentence, starts in lower case and ends without a full stop.
/// - A line is redrawn only on a terminal that supports this (not `TERM=dumb`). It is wiped before a message is
///   printed.
/// - The output has no colour, so `NO_COLOR` has no effect.
final class Terminal: Sendable {
    static let shared = Terminal()

    /// Whether a line can be redrawn in place.
    let canRedraw: Bool
    private let queue = BlockingQueue("mediavault.terminal")
    /// The number of drawn lines, which the next ones replace.
    private let drawn = Locked(0)

    private init() {
        let kind = ProcessEnvironment.current["TERM"]
        canRedraw = isatty(STDERR_FILENO) == 1 && kind != nil && kind != "dumb"
    }

    /// Prints a message.
    func say(_ text: String) async {
        let line = wiped(Self.printable("mediavault: " + text)) + "\n"
        // A separate task prints the message, because a cancelled task must still be able to report how to continue.
        await Task { await show(line) }.value
        drawn.withLock { $0 = 0 }
    }

    /// Prints a message synchronously, for use while no other thread may be started.
    static func sayAlone(_ text: String) { put(printable("mediavault: " + text) + "\n") }

    /// Prints the help of a command that was used incorrectly.
    func show(help: String) async { await show(wiped(help) + "\n") }

    /// Draws a line in place of the previously drawn lines.
    func redraw(_ line: String) async { await redraw(lines: [line]) }

    /// Draws lines in place of the previously drawn lines. No line may be longer than the terminal is wide.
    func redraw(lines: [String]) async {
        let text = wiped(lines.map(Self.printable).joined(separator: "\n"))
        drawn.withLock { $0 = lines.count }
        await show(text)
    }

    /// Keeps the lines that were drawn last.
    func keepLine() async {
        if takeDrawn() > 0 { await show("\n") }
    }

    /// Wipes the lines that were drawn last.
    func wipeLines() async {
        let text = wiped("")
        drawn.withLock { $0 = 0 }
        if !text.isEmpty { await show(text) }
    }

    private func takeDrawn() -> Int {
        drawn.withLock { drawn in
            defer { drawn = 0 }
            return drawn
        }
    }

    /// The terminal's current number of columns, which changes as the window is resized.
    var width: Int {
        var size = winsize()
        guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// The terminal's current number of lines.
    var height: Int {
        var size = winsize()
        guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return 24 }
        return Int(size.ws_row)
    }

    /// Whether the user can be prompted, that is, whether standard input is a terminal and the process has a
    /// controlling terminal.
    var canPrompt: Bool {
        guard isatty(STDIN_FILENO) == 1 else { return false }
        let device = Self.openDevice()
        if device >= 0 { close(device) }
        return device >= 0
    }

    /// The maximum length of a typed line in bytes, which is the maximum that a terminal delivers at once.
    static let maximumLineLength = 4096

    /// Runs a call that waits for the user, on the terminal's own thread.
    func blocking<Value: Sendable>(_ body: @escaping @Sendable (Terminal) throws -> Value) async throws -> Value {
        try await queue.run { try body(self) }
    }

    /// Prompts for a line that is not shown while the user types it. This method blocks.
    ///
    /// - Returns: the number of bytes written to `memory`, without the line end; 0 at the end of input.
    func readHidden(_ question: String, into memory: UnsafeMutableRawBufferPointer) throws -> Int {
        let device = Self.openDevice()
        guard device >= 0 else { throw UsageError("there is no terminal to prompt at") }
        defer { close(device) }
        guard let silence = EchoGuard(device) else { throw UsageError("there is no terminal to prompt at") }
        _ = unsafe Array(question.utf8).withUnsafeBytes { unsafe write(device, $0.baseAddress, $0.count) }
        var count = 0
        repeat { count = unsafe read(device, memory.baseAddress, memory.count) } while count < 0 && errno == EINTR
        _ = consume silence
        // If there is no line end, the input has ended.
        guard count > 0, unsafe memory[count - 1] == 0x0A else { return 0 }
        return count - 1
    }

    /// Replaces control characters, including bidirectional ones, with `?`, because text from an origin or an argument
    /// must neither control the terminal nor look like other text.
    static func printable(_ text: String) -> String {
        // This is a shortcut, because long lists are mostly ASCII.
        guard text.utf8.contains(where: { !(0x20..<0x7F).contains($0) }) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isPrintable($0) ? $0 : "?" }))
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x202A...0x202E, 0x2066...0x2069: false
        default: scalar.properties.generalCategory != .control
        }
    }

    /// Returns a text preceded by the codes that wipe the previously drawn lines.
    private func wiped(_ text: String) -> String {
        switch drawn.withLock({ $0 }) {
        case 0: text
        case 1: "\r\u{1B}[K" + text
        case let lines: "\r\u{1B}[\(lines - 1)A\u{1B}[J" + text
        }
    }

    /// Writes a text to standard error. A failure is ignored, because there is nowhere to report it.
    private func show(_ text: String) async {
        try? await queue.run { Self.put(text) }
    }

    private static func put(_ text: String) {
        _ = unsafe Array(text.utf8).withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    private static func openDevice() -> Int32 { unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) }
}

/// Switches a terminal's echo off for as long as the guard exists, and on again even if a signal ends the process.
///
/// It handles the signals itself rather than through Dispatch, because once Dispatch has watched and released a signal,
/// it does not deliver that signal again, and the service needs it later. Only one guard may exist at a time.
struct EchoGuard: ~Copyable {
    private let device: Int32
    private let shown: termios
    private var earlier: [(number: Int32, action: sigaction)] = []

    /// Switches the echo off; returns nil if the device is not a terminal.
    init?(_ device: Int32) {
        var settings = termios()
        guard unsafe tcgetattr(device, &settings) == 0 else { return nil }
        self.device = device
        shown = settings
        // The signal handler, which is installed next, reads these values.
        unsafe shownByHandler = (device, settings)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            earlier.append((number, Self.replaceAction(of: number) { Self.restore(number: $0) }))
        }
        // Ctrl-Z is ignored while the echo is off.
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

    /// Restores the echo, and ends the process. It runs in a signal handler, so it calls only async-signal-safe
    /// functions.
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

// The signal handler, which cannot take a lock, reads these values. They are written before the handler is installed.
nonisolated(unsafe) private var shownByHandler: (device: Int32, settings: termios) = (-1, termios())

/// Prompts for a passphrase that unlocks the keyring.
enum PassphrasePrompt {
    /// The passphrase to prompt for.
    enum Question: Sendable {
        /// The passphrase that currently unlocks the keyring.
        case old
        /// The passphrase that will unlock a new keyring.
        case first
        /// The passphrase that will unlock the keyring in addition to, or instead of, the current method.
        case new
        case oldOfBackup
        case newForBackup
        /// The PIN of a viewer.
        case pin

        /// Whether the user is choosing the passphrase, which must then be typed twice.
        var isNew: Bool { self != .old && self != .oldOfBackup }

        fileprivate var text: String {
            switch self {
            case .old: "Passphrase: "
            case .first, .new: "New passphrase: "
            case .oldOfBackup: "Passphrase of the backup: "
            case .newForBackup: "New passphrase for the backup: "
            case .pin: "PIN: "
            }
        }

        /// The word that messages use for what the user types.
        fileprivate var word: String { if case .pin = self { "PIN" } else { "passphrase" } }

        /// The error message if the user cannot be prompted.
        fileprivate var remedy: String {
            let missing =
                switch self {
                case .old, .first: "key"
                case .new: "new key"
                case .oldOfBackup, .newForBackup: "backup passphrase"
                case .pin: "PIN"
                }
            return "no \(missing) given; use \(options)"
        }

        /// The options that make the question unnecessary.
        fileprivate var options: String {
            switch self {
            case .old, .first: "--key-file, --passphrase-file, --key-command or --credential"
            case .new: "--new-key-file, --new-passphrase-file, --new-key-command or --new-credential"
            case .oldOfBackup, .newForBackup: "--backup-passphrase-file"
            case .pin: "--pin-file"
            }
        }
    }

    /// Prompts for the passphrase.
    ///
    /// - Throws: ``UsageError`` if there is no terminal, if nothing was typed, or if the two typed lines differ.
    static func ask(_ question: Question) async throws -> Passphrase {
        guard Terminal.shared.canPrompt else {
            throw UsageError(question.remedy + ", or run the command at a terminal")
        }
        return try await Terminal.shared.blocking { terminal in
            // Both lines are read straight into locked memory, and only the first is kept.
            try unsafe Passphrase(capacity: 2 * Terminal.maximumLineLength) { memory in
                let first = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[..<Terminal.maximumLineLength])
                let second = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[Terminal.maximumLineLength...])
                let count = try unsafe terminal.readHidden(question.text, into: first)
                guard count > 0 else {
                    throw UsageError(
                        "no \(question.word) was entered; run the command in the foreground and type it, or use "
                            + question.options)
                }
                guard question.isNew else { return count }
                let again = try unsafe terminal.readHidden("Repeat \(question.word): ", into: second)
                guard unsafe first[..<count].elementsEqual(second[..<again]) else {
                    throw UsageError("the two \(question.word)s differ; run the command again")
                }
                return count
            }
        }
    }
}
