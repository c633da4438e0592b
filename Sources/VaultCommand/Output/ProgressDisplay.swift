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
