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
