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
