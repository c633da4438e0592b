/// Displays the progress of one operation, such as the download of a title.
struct ProgressDisplay {
    private let name: String
    private let terminal: Terminal
    private let begin = ContinuousClock.now
    private var pace: ProgressPace
    private var latest: TransferProgress?
    private var isShown = false
    /// The line that was printed last, if lines are kept.
    private var sentence: String?
    /// The number of bytes held at the start. The speed counts only the bytes that arrived later.
    private var heldBefore: Int64?

    init(_ name: String, on terminal: Terminal = .shared) {
        self.name = name
        self.terminal = terminal
        pace = ProgressPace(terminal.canRedraw ? .redrawn : .lines)
    }

    mutating func show(_ progress: TransferProgress) async {
        let time = ContinuousClock.now - begin
        let before = heldBefore ?? progress.held
        heldBefore = before
        var progress = progress
        progress.bytesPerSecond = TransferProgress.rate(of: progress.held - before, in: time)
        latest = progress
        isShown = pace.isDue(progress, at: time)
        if isShown { await tell(progress) }
    }

    /// Shows the final state unless it is already shown, and keeps the line.
    ///
    /// - Parameter isComplete: whether the operation is complete even if the last state was not.
    mutating func end(isComplete: Bool = false) async {
        if isComplete, var whole = latest, let total = whole.total, whole.held < total {
            whole.held = total
            (latest, isShown) = (whole, false)
        }
        if let latest, !isShown { await tell(latest) }
        await terminal.keepLine()
    }

    private mutating func tell(_ progress: TransferProgress) async {
        switch pace.style {
        case .redrawn: await terminal.redraw(ProgressLine.bar(name, progress, width: terminal.width))
        case .lines:
            let line = ProgressLine.sentence(name, progress)
            if line != sentence { await terminal.say(line) }
            sentence = line
        }
    }
}

/// The text of a progress display.
enum ProgressLine {
    /// Returns a line for output in which lines are kept, such as a log or a pipe.
    static func sentence(_ name: String, _ progress: TransferProgress) -> String {
        ([name + ":"] + [progress.percent.map { "\($0) %," }, amount(progress)].compactMap(\.self)).joined(
            separator: " ")
    }

    /// Returns a line shorter than `width` columns, with the name, a bar if there is room, and as many figures as fit.
    ///
    /// - Parameter keepsBar: whether to omit the speed and the remaining time if this makes room for the bar.
    static func bar(_ name: String, _ progress: TransferProgress, width: Int, keepsBar: Bool = false) -> String {
        // A line that fills the last column makes some terminals wrap.
        let room = max(0, width - 1)
        var figures = [
            progress.percent.map { TextTable.right("\($0) %", 5) }, paddedAmount(progress),
            progress.bytesPerSecond > 0 ? ByteCount.text(progress.bytesPerSecond) + "/s" : nil,
            progress.secondsLeft.map { ClockText.text(seconds: $0) + " left" },
        ].compactMap(\.self)
        let leastName = min(name.count, 12)
        while figures.count > 1, leastName + 2 + joined(figures).count > room { figures.removeLast() }
        func barWidth() -> Int { min(40, room - min(name.count, 24) - joined(figures).count - 4) }
        while keepsBar, figures.count > 2, barWidth() < leastBar { figures.removeLast() }
        let (tail, barWidth) = (joined(figures), barWidth())
        let bar = barWidth >= leastBar ? progress.percent.map { drawn($0, columns: barWidth) + "  " } ?? "" : ""
        let title = shortened(name, to: max(0, room - tail.count - 2 - bar.count))
        return String((title + (title.isEmpty ? "" : "  ") + bar + tail).prefix(room))
    }

    private static let leastBar = 12

    private static func amount(_ progress: TransferProgress) -> String {
        ByteCount.text(progress.held) + (progress.total.map { " of \(ByteCount.text($0))" } ?? "")
    }

    /// Returns the amount padded to a constant width, so that the other parts of the line do not move.
    private static func paddedAmount(_ progress: TransferProgress) -> String {
        TextTable.right(amount(progress), progress.total.map { ByteCount.text($0).count * 2 + 4 } ?? 0)
    }

    private static func joined(_ figures: [String]) -> String { figures.joined(separator: "  ") }

    private static func drawn(_ percent: Int, columns: Int) -> String {
        let filled = (columns - 2) * percent / 100
        return "[" + String(repeating: "=", count: filled) + String(repeating: " ", count: columns - 2 - filled) + "]"
    }

    /// Shortens a name by cutting off its start, because its end is more specific.
    private static func shortened(_ name: String, to count: Int) -> String {
        name.count <= count ? name : count < 2 ? "" : "…" + name.suffix(count - 1)
    }
}

/// Decides when to show progress between the start and the end of an operation.
struct ProgressPace: Hashable, Sendable {
    enum Style: Hashable, Sendable {
        /// One line that is redrawn at most ten times a second.
        case redrawn
        /// Lines that are kept. One is printed for every tenth of the whole, and at least every five seconds.
        case lines
    }

    let style: Style
    private var lastTime: Duration?
    private var lastTenth = 0

    init(_ style: Style) { self.style = style }

    /// Returns whether to show the progress now, which is `time` after the start. If so, it is recorded as shown.
    mutating func isDue(_ progress: TransferProgress, at time: Duration) -> Bool {
        let tenth = (progress.percent ?? 0) / 10
        guard let lastTime else {
            tell(tenth, time)
            return true
        }
        let isDue =
            switch style {
            case .redrawn: time - lastTime >= .milliseconds(100)
            case .lines: tenth > lastTenth || time - lastTime >= .seconds(5)
            }
        if isDue { tell(tenth, time) }
        return isDue
    }

    private mutating func tell(_ tenth: Int, _ time: Duration) {
        lastTime = time
        lastTenth = tenth
    }
}

/// The progress of an operation in bytes.
struct TransferProgress: Hashable, Sendable {
    var held: Int64
    /// The number of bytes in the whole; nil if it is unknown.
    var total: Int64?
    var bytesPerSecond: Int64 = 0

    /// Returns the rate in bytes per second; 0 if the time is too short to measure the rate.
    static func rate(of bytes: Int64, in time: Duration) -> Int64 {
        guard bytes > 0, time >= .milliseconds(200) else { return 0 }
        return Int64(Double(bytes) / (time / .seconds(1)))
    }

    /// The number of seconds that remain at this speed; nil if it is unknown, or more than a week.
    var secondsLeft: Int64? {
        guard let total, bytesPerSecond > 0, held < total else { return nil }
        let left = (Double(total) - Double(held)) / Double(bytesPerSecond)
        return left < 7 * 86_400 ? Int64(left.rounded(.up)) : nil
    }

    /// The percentage, rounded down; nil if the total is unknown. It is 100 only if nothing is missing.
    var percent: Int? {
        guard let total else { return nil }
        return held >= total ? 100 : min(99, Int(Double(max(held, 0)) / Double(total) * 100))
    }
}
