import Foundation
import VaultModel

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
        let kind = Surroundings.current["TERM"]
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
