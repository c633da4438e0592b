import Foundation
import MediaVault
import VaultModel
import VaultService

extension DownloadDocument {
    /// The name that a person would use: the title's name, else its URL with percent escapes decoded.
    var shownName: String {
        name ?? ShownURL.of(url)
    }

    /// The progress of the download.
    var transfer: TransferProgress { TransferProgress(held: held, total: size) }
}

/// The table of downloads that `downloads` prints once.
struct DownloadTable: Sendable {
    /// The width of the terminal; nil if the output is not a terminal, in which case text is not truncated.
    let terminalWidth: Int?
    /// The time of day at which the queue continues, if the queue is waiting for that time.
    var opening: String?

    private static let headings = ["ID", "STATE", "HELD", "SIZE", "NAME"]
    /// The columns that contain numbers.
    private static let numbers: Set = [2, 3]

    /// Returns a line for each download, and a line with the queue's counts; empty if there are no downloads.
    func text(_ document: DownloadsDocument, now: Int64 = WallClock.now()) -> String {
        guard !document.downloads.isEmpty else { return "" }
        let rows = [Self.headings] + Self.ordered(document.downloads).map { self.cells($0, now) }
        let cells = rows.map { $0.map { ListCell($0) } }
        let widths = Self.headings.indices.map { column in cells.reduce(0) { max($0, $1[column].width) } }
        var text = ""
        for row in cells {
            var line = ""
            for (column, cell) in row.dropLast().enumerated() {
                let padding = String(repeating: " ", count: widths[column] - cell.width)
                line += (Self.numbers.contains(column) ? padding + cell.text : cell.text + padding) + "  "
            }
            let room = terminalWidth.map { max(12, $0 - line.count) }
            text += line + (row.last.map { cell in room.map { cell.cut(to: $0) }?.text ?? cell.text } ?? "") + "\n"
        }
        return text + Self.summary(document.counts) + "\n"
    }

    /// Returns the queue, followed by other running downloads, followed by ended downloads. An ended download is
    /// omitted if its title has already occurred.
    private static func ordered(_ downloads: [DownloadDocument]) -> [DownloadDocument] {
        let queue = downloads.filter { $0.queued && $0.state != .done }
        let others = downloads.filter { !$0.queued && $0.state == .running }
        var shown = Set((queue + others).map(\.id))
        return queue + others
            + downloads.filter {
                (!$0.queued || $0.state == .done) && $0.state != .running && shown.insert($0.id).inserted
            }
    }

    private func cells(_ download: DownloadDocument, _ now: Int64) -> [String] {
        let reason = download.problem.flatMap { download.state == .done ? nil : $0.detail }.map { ": \($0)" } ?? ""
        return [
            "\(download.id)", state(download, now), download.transfer.percent.map { "\($0) %" } ?? "-",
            download.size.map(ByteCount.text) ?? "-", Terminal.printable(download.shownName + reason),
        ]
    }

    /// Returns the text for a download's state, in a few words.
    private func state(_ download: DownloadDocument, _ now: Int64) -> String {
        guard download.state == .waiting else { return download.state.rawValue }
        if let opening { return "until \(opening)" }
        guard let next = download.nextAttempt, next.seconds > now else { return download.state.rawValue }
        return "retry in \(Self.left(next.seconds - now))"
    }

    private static func left(_ seconds: Int64) -> String {
        seconds < 60 ? "\(seconds)s" : AgeText.text(seconds: seconds)
    }

    /// Returns a line with the queue's counts.
    static func summary(_ counts: DownloadCounts) -> String {
        counts == DownloadCounts() ? "the queue is empty" : "queue: \(self.counts(counts))"
    }

    /// Returns the number of queue entries in each state, in words.
    static func counts(_ counts: DownloadCounts) -> String {
        let parts = [
            (counts.running, "running"), (counts.waiting, "waiting"), (counts.paused, "paused"),
            (counts.failed, "failed"), (counts.damaged, "damaged"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }
}

/// Shows downloads live at a terminal.
struct DownloadMonitor: Sendable {
    /// Whether to continue when no download is running.
    let isEndless: Bool
    private let terminal = Terminal.shared
    private let begin = ContinuousClock.now
    /// The number of bytes that each running download had when it was first seen, and the time at which it was first
    /// seen.
    private var first: [String: (held: Int64, at: ContinuousClock.Instant)] = [:]

    private static let interval: Duration = .milliseconds(500)
    /// The number of consecutive updates without a running download after which the display ends. It is greater than
    /// one because, between two downloads, nothing runs for a moment.
    private static let patience = 3

    init(isEndless: Bool) { self.isEndless = isEndless }

    /// Redraws the downloads until none is running, or forever if ``isEndless``.
    mutating func follow(_ service: RemoteVault) async throws {
        var idle = 0
        while isEndless || idle < Self.patience {
            let (running, counts) = try await Self.running { try await service.downloads(after: $0, limit: $1) }
            idle = running.isEmpty ? idle + 1 : 0
            if isEndless || !running.isEmpty || !first.isEmpty {
                await terminal.redraw(lines: lines(running, counts, at: .now))
            }
            try await Task.sleep(
                for: running.isEmpty && first.isEmpty && !isEndless ? .milliseconds(50) : Self.interval)
        }
        await terminal.wipeLines()
    }

    /// Returns the running downloads, and the queue's counts. Most running downloads are on the first page, so further
    /// pages are read only while some are missing.
    ///
    /// - Parameter page: returns the page of the queue that follows a cursor, with at most a given number of entries.
    static func running(
        in page: (_ after: String?, _ limit: Int) async throws -> DownloadsDocument
    ) async throws -> ([DownloadDocument], DownloadCounts) {
        var document = try await page(nil, 200)
        let counts = document.counts
        var running = document.downloads.filter { $0.state == .running }
        while let next = document.next, running.count(where: \.queued) < counts.running {
            document = try await page(next, 1000)
            running += document.downloads.filter { $0.state == .running }
        }
        return (running, counts)
    }

    /// Returns a line for each running download, up to as many as fit, and a line with the total.
    private mutating func lines(
        _ running: [DownloadDocument], _ counts: DownloadCounts, at now: ContinuousClock.Instant
    ) -> [String] {
        var total = TransferProgress(held: 0, total: 0)
        var lines: [String] = []
        let keys = running.map { "\($0.id)\($0.queued)" }
        first = first.filter { keys.contains($0.key) }
        for (key, download) in zip(keys, running) {
            let since = first[key] ?? (download.held, now)
            first[key] = since
            var progress = download.transfer
            progress.bytesPerSecond = TransferProgress.rate(of: progress.held - since.held, in: now - since.at)
            lines.append(
                ProgressLine.bar(
                    "\(download.id)  \(Terminal.printable(download.shortName))", progress, width: terminal.width,
                    keepsBar: true))
            total.held += progress.held
            total.total = total.total.flatMap { sum in progress.total.map { sum + max($0, progress.held) } }
            total.bytesPerSecond += progress.bytesPerSecond
        }
        let room = max(1, terminal.height - 2)
        let more = lines.count > room ? ["and \(lines.count - room) more"] : []
        return Array(lines.prefix(room)) + more + [Self.summary(total, counts, width: terminal.width)]
    }

    /// Returns the last line, with the queue's counts, and the amount, speed and remaining time of the running
    /// downloads.
    static func summary(_ total: TransferProgress, _ counts: DownloadCounts, width: Int) -> String {
        let figures = [
            DownloadTable.summary(counts),
            total.held > 0 ? ByteCount.text(total.held) + (total.total.map { " of \(ByteCount.text($0))" } ?? "") : nil,
            total.bytesPerSecond > 0 ? ByteCount.text(total.bytesPerSecond) + "/s" : nil,
            total.secondsLeft.map { ClockText.text(seconds: $0) + " left" },
        ].compactMap(\.self)
        var text = ""
        for figure in figures where text.isEmpty || text.count + 2 + figure.count < width {
            text += (text.isEmpty ? "" : "  ") + figure
        }
        return String(text.prefix(max(0, width - 1)))
    }
}

extension DownloadDocument {
    /// The download's name, else the last part of its URL's path.
    fileprivate var shortName: String {
        guard name == nil, let url = try? MediaURL(url) else { return shownName }
        return url.path.split(separator: "/").last.map { $0.removingPercentEncoding ?? String($0) } ?? url.host
    }
}
