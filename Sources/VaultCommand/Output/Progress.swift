/// Shows how one title comes along.
struct ProgressDisplay {
    private let name: String
    private let terminal: Terminal
    private let begin = ContinuousClock.now
    private var pace: ProgressPace
    private var latest: TransferProgress?
    private var isShown = false
    /// The line that was told last, where lines stay.
    private var sentence: String?
    /// What was held at the beginning: speed is of what came since.
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

    /// Shows the last state, where it was not shown, and lets it stand.
    mutating func end() async {
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

/// How progress reads.
enum ProgressLine {
    /// A sentence for where lines are kept: logs, pipes.
    static func sentence(_ name: String, _ progress: TransferProgress) -> String {
        ([name + ":"] + [progress.percent.map { "\($0) %," }, amount(progress)].compactMap(\.self)).joined(
            separator: " ")
    }

    /// One line that stays below `width` columns: the name, a bar where there is room, and as many figures as fit.
    static func bar(_ name: String, _ progress: TransferProgress, width: Int) -> String {
        // A line that fills the last column makes some terminals wrap.
        let room = max(0, width - 1)
        var figures = [
            progress.percent.map { padded("\($0) %", to: 5) }, steadyAmount(progress),
            progress.bytesPerSecond > 0 ? ByteCount.text(progress.bytesPerSecond) + "/s" : nil,
        ].compactMap(\.self)
        let leastName = min(name.count, 12)
        while figures.count > 1, leastName + 2 + joined(figures).count > room { figures.removeLast() }
        let tail = joined(figures)
        let forBar = min(40, room - min(name.count, 24) - tail.count - 4)
        let bar = forBar >= 12 ? progress.percent.map { drawn($0, columns: forBar) + "  " } ?? "" : ""
        let title = shortened(name, to: max(0, room - tail.count - 2 - bar.count))
        return String((title + (title.isEmpty ? "" : "  ") + bar + tail).prefix(room))
    }

    private static func amount(_ progress: TransferProgress) -> String {
        ByteCount.text(progress.held) + (progress.total.map { " of \(ByteCount.text($0))" } ?? "")
    }

    /// As wide from beginning to end, so that the line does not jump.
    private static func steadyAmount(_ progress: TransferProgress) -> String {
        padded(amount(progress), to: progress.total.map { ByteCount.text($0).count * 2 + 4 } ?? 0)
    }

    private static func joined(_ figures: [String]) -> String { figures.joined(separator: "  ") }

    private static func padded(_ text: String, to count: Int) -> String {
        String(repeating: " ", count: max(0, count - text.count)) + text
    }

    private static func drawn(_ percent: Int, columns: Int) -> String {
        let filled = (columns - 2) * percent / 100
        return "[" + String(repeating: "=", count: filled) + String(repeating: " ", count: columns - 2 - filled) + "]"
    }

    /// The end of a name tells more than its beginning.
    private static func shortened(_ name: String, to count: Int) -> String {
        name.count <= count ? name : count < 2 ? "" : "…" + name.suffix(count - 1)
    }
}

/// When progress is worth telling, between its beginning and its end.
struct ProgressPace: Hashable, Sendable {
    enum Style: Hashable, Sendable {
        /// One line drawn over itself, at most ten times a second.
        case redrawn
        /// Lines that stay: every tenth of the whole, and every five seconds.
        case lines
    }

    let style: Style
    private var lastTime: Duration?
    private var lastTenth = 0

    init(_ style: Style) { self.style = style }

    /// Whether to tell it now, `time` after the beginning; telling is then taken as done.
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

/// How far one title has come.
struct TransferProgress: Hashable, Sendable {
    var held: Int64
    /// The length of the whole, where the origin has said.
    var total: Int64?
    var bytesPerSecond: Int64 = 0

    /// Bytes a second; 0 while too little has come to tell.
    static func rate(of bytes: Int64, in time: Duration) -> Int64 {
        guard bytes > 0, time >= .milliseconds(200) else { return 0 }
        return Int64(Double(bytes) / (time / .seconds(1)))
    }

    /// Whole percent, and 100 only where nothing is missing.
    var percent: Int? {
        guard let total else { return nil }
        return held >= total ? 100 : min(99, Int(Double(max(held, 0)) / Double(total) * 100))
    }
}
