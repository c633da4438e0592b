import MediaVault

/// Displays the progress of several titles together on one line.
actor ListProgress {
    private let terminal: Terminal
    private let begin = ContinuousClock.now
    private var pace: ProgressPace
    private var state: ListState

    /// - Parameter count: the number of titles.
    init(of count: Int, on terminal: Terminal = .shared) {
        self.terminal = terminal
        pace = ProgressPace(terminal.canRedraw ? .redrawn : .lines)
        state = ListState(count: count)
    }

    /// Records that the fetch of a title has begun.
    func begin(_ number: Int, _ name: String) { state.running[number] = ListState.Title(name: name) }

    /// Records the progress of a title.
    func show(_ number: Int, _ progress: TransferProgress) async {
        state.running[number]?.note(progress)
        await tellIfDue()
    }

    /// Records that the fetch of a title has ended, whether or not the title is complete.
    ///
    /// - Parameter bytes: the number of the title's bytes in the vault.
    func end(_ number: Int, bytes: Int64) async {
        state.end(number, bytes: bytes)
        await tellIfDue()
    }

    /// Shows the final state, and keeps the line.
    func end() async {
        await tell()
        await terminal.keepLine()
    }

    private func tellIfDue() async {
        let share = TransferProgress(held: Int64(state.share * 10_000), total: 10_000)
        if pace.isDue(share, at: ContinuousClock.now - begin) { await tell() }
    }

    private func tell() async {
        let time = ContinuousClock.now - begin
        switch pace.style {
        case .redrawn: await terminal.redraw(state.line(after: time, width: terminal.width))
        case .lines: await terminal.say(state.sentence(after: time))
        }
    }
}

/// The progress of several titles, as a pure value.
struct ListState: Sendable {
    /// A title that is being fetched.
    struct Title: Sendable {
        let name: String
        private(set) var share = 0.0
        /// The number of bytes that have arrived since the fetch of the title began.
        private(set) var bytes: Int64 = 0
        private var heldBefore: Int64?

        init(name: String) { self.name = name }

        mutating func note(_ progress: TransferProgress) {
            let before = heldBefore ?? progress.held
            heldBefore = before
            bytes = max(0, progress.held - before)
            guard let total = progress.total else { return }
            share = total > 0 ? min(1, max(0, Double(progress.held) / Double(total))) : 1
        }
    }

    let count: Int
    private(set) var done = 0
    private(set) var bytes: Int64 = 0
    /// The titles that are being fetched, by number.
    var running: [Int: Title] = [:]

    init(count: Int) { self.count = count }

    /// Removes a title whose fetch has ended, and counts it as done.
    mutating func end(_ number: Int, bytes: Int64) {
        running[number] = nil
        done += 1
        self.bytes += bytes
    }

    /// The completed share of the titles, from 0 to 1. All titles have the same weight, because the sizes of those
    /// whose fetch has not begun are unknown.
    var share: Double {
        count == 0 ? 1 : min(1, (Double(done) + running.values.reduce(0) { $0 + $1.share }) / Double(count))
    }

    /// The completed percentage, rounded down. It is 100 only if all titles have ended.
    var percent: Int { done == count ? 100 : min(99, Int(share * 100)) }

    /// Returns the number of seconds that remain at the current pace; nil if it is unknown.
    func secondsLeft(after time: Duration) -> Int64? {
        guard done > 0, done < count, share > 0, time >= .seconds(1) else { return nil }
        let left = time / .seconds(1) * (1 - share) / share
        return left < 7 * 86_400 ? Int64(left.rounded(.up)) : nil
    }

    /// Returns a line for output in which lines are kept, such as a log or a pipe.
    func sentence(after time: Duration) -> String { facts(after: time).joined(separator: ", ") }

    /// Returns a line shorter than `width` columns, with the figures followed by the names of the titles being fetched.
    func line(after time: Duration, width: Int) -> String {
        let room = max(0, width - 1)
        let names = running.sorted { $0.key < $1.key }.map(\.value.name)
        return String((facts(after: time) + [names.joined(separator: ", ")]).joined(separator: "  ").prefix(room))
    }

    private func facts(after time: Duration) -> [String] {
        let arrived = bytes + running.values.reduce(0) { $0 + $1.bytes }
        let left = secondsLeft(after: time).map { ClockText.text(seconds: $0) + " left" }
        return ["\(done) of \(Count.of(count, "title"))", "\(percent) %", ByteCount.text(arrived), left].compactMap(
            \.self)
    }
}
