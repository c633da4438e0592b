import ArgumentParser
import Foundation
import MediaVault
import VaultService

/// A column of the table that `list` prints.
enum ListColumn: String, CaseIterable, Sendable {
    case id, held, size, bytes, age, played, expires, type, duration, `class`, name, url
    case contentID = "content-id"

    /// The default columns. The name is last, because it is the only one whose width is unbounded.
    static let usual: [ListColumn] = [.id, .held, .size, .age, .name]

    /// Parses a list of columns, such as `id,name`.
    static func parse(_ text: String) throws -> [ListColumn] {
        try text.split(separator: ",", omittingEmptySubsequences: false).map { name in
            guard let column = ListColumn(rawValue: String(name)) else {
                throw ValidationError(
                    "there is no column '\(Redaction.withoutSecrets(String(name)))'; --columns takes one or several of "
                        + allCases.map(\.rawValue).joined(separator: ","))
            }
            return column
        }
    }

    /// The completion of the option's value, which offers further columns.
    static let completion = CompletionKind.custom { _, _, prefix in values(continuing: prefix) }

    /// Returns the values that consist of the columns typed so far and one more column that is not among them.
    static func values(continuing typed: String) -> [String] {
        // The word may also include the option, as in `--columns=id`.
        let value = typed.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).last ?? ""
        let known = value.split(separator: ",", omittingEmptySubsequences: false).dropLast().map(String.init)
        let head = typed.dropLast(value.count) + known.map { $0 + "," }.joined()
        return allCases.map(\.rawValue).filter { !known.contains($0) }.map { head + $0 }
    }

    /// Whether the column's text may be longer than a line, so that it is truncated to the terminal's width.
    fileprivate var isLong: Bool { [.name, .url, .contentID].contains(self) }
    /// Whether the column contains numbers, which are right-aligned.
    fileprivate var isNumber: Bool { [.held, .size, .bytes, .age, .played, .expires, .duration].contains(self) }

    /// Returns the column's text for a title.
    ///
    /// - Parameter now: the current time in seconds since 1970.
    func text(_ title: ListedDocument, now: Int64) -> String {
        switch self {
        case .id: title.id?.description ?? "-"
        case .held:
            TransferProgress(held: title.bytes, total: title.size).percent.map { "\($0) %" } ?? "?"
        case .size: title.size.map(ByteCount.text) ?? "?"
        case .bytes: ByteCount.text(title.bytes)
        case .age: AgeText.text(seconds: now - title.added.seconds)
        case .played: AgeText.text(seconds: now - title.accessed.seconds)
        case .expires:
            title.expires.map { $0.seconds <= now ? "now" : "in " + AgeText.text(seconds: $0.seconds - now) } ?? "-"
        case .type: Terminal.printable(title.title.map(TitleText.kind) ?? title.type ?? "?")
        case .duration: title.duration.map { ClockText.text(seconds: $0 / 1000) } ?? "?"
        case .class: title.class
        case .name: Terminal.printable(title.name ?? title.fallbackName ?? ShownURL.of(title.url))
        case .url: Terminal.printable(title.url)
        case .contentID: title.contentID.map(Terminal.printable) ?? "-"
        }
    }
}

/// Formats the time since an event in a single unit, such as `12m`, `5h`, `90d` or `2y`.
enum AgeText {
    static func text(seconds: Int64) -> String {
        switch seconds {
        case ..<60: "0m"
        case ..<3600: "\(seconds / 60)m"
        case ..<86_400: "\(seconds / 3600)h"
        case ..<(365 * 86_400): "\(seconds / 86_400)d"
        default: "\(seconds / (365 * 86_400))y"
        }
    }
}

/// A text, and the number of terminal columns that it occupies.
struct ListCell: Hashable, Sendable {
    let text: String
    let width: Int

    init(_ text: String) {
        self.text = text
        width = Self.width(of: text)
    }

    /// Returns the number of columns that a text occupies. A wide character, as in Chinese or Japanese, counts as two,
    /// and a combining mark as zero.
    static func width(of text: String) -> Int {
        // This is a shortcut, because long lists are mostly ASCII.
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.unicodeScalars.reduce(0) { $0 + width(of: $1) }
    }

    private static func width(of scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: 0
        default: wide.contains { $0.contains(scalar.value) } ? 2 : 1
        }
    }

    /// The approximate blocks of wide characters (Unicode Standard Annex 11).
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
        0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD,
    ]

    /// Returns as much of the text as fits, followed by an ellipsis if some of the text is cut off.
    func cut(to most: Int) -> ListCell {
        guard width > most else { return self }
        var (kept, used) = (String.UnicodeScalarView(), 0)
        for scalar in text.unicodeScalars {
            let width = Self.width(of: scalar)
            guard used + width < most else { break }
            kept.append(scalar)
            used += width
        }
        return ListCell(String(kept) + "…")
    }
}

/// The table that `list` prints.
struct ListTable: Sendable {
    let columns: [ListColumn]
    /// The width of the terminal; nil if the output is not a terminal, in which case text is not truncated.
    let terminalWidth: Int?

    private static let gap = 2
    /// The minimum width to which a column is truncated.
    private static let leastWidth = 12

    /// Returns whether a column's text is truncated. A URL at the end of a line stays whole, so that it can be copied.
    private func isCut(_ column: Int) -> Bool {
        columns[column].isLong && !(columns[column] == .url && column == columns.count - 1)
    }

    /// The usual columns, and fewer of them for narrow terminals, each of which leaves more room for names.
    private static let usual: [[ListColumn]] = [
        ListColumn.usual, [.id, .held, .size, .name], [.id, .held, .name], [.id, .name],
    ]

    /// Returns the usual columns for which the terminal is wide enough; the given columns if they were chosen.
    private func fitting(_ rows: [[ListCell]]) -> [ListColumn] {
        guard let terminalWidth, columns == ListColumn.usual else { return columns }
        return Self.usual.first { chosen in
            let others = columns.indices.filter { chosen.contains(columns[$0]) && !columns[$0].isLong }
            let widths = others.map { column in
                max(columns[column].rawValue.count, rows.map { $0[column].width }.max() ?? 0) + Self.gap
            }
            return terminalWidth - widths.reduce(0, +) >= Self.leastWidth
        } ?? [.id, .name]
    }

    /// Returns the heading and a line for each row; empty if there are no rows.
    func text(_ rows: [[ListCell]]) -> String {
        guard !rows.isEmpty else { return "" }
        let fitting = fitting(rows)
        guard fitting == columns else {
            let kept = columns.indices.filter { fitting.contains(columns[$0]) }
            let fewer = rows.map { row in kept.map { row[$0] } }
            return ListTable(columns: fitting, terminalWidth: terminalWidth).text(fewer)
        }
        let rows = [columns.map { ListCell($0.rawValue.uppercased()) }] + rows
        var widths = columns.indices.map { column in rows.reduce(0) { max($0, $1[column].width) } }
        if let terminalWidth {
            let long = columns.indices.filter(isCut)
            let others = columns.indices.filter { !columns[$0].isLong }.reduce(0) { $0 + widths[$1] }
            let room = terminalWidth - others - Self.gap * (columns.count - 1)
            for column in long { widths[column] = min(widths[column], max(Self.leastWidth, room / long.count)) }
        }
        var text = ""
        for row in rows {
            for (column, cell) in row.enumerated() {
                let cell = terminalWidth != nil && isCut(column) ? cell.cut(to: widths[column]) : cell
                let padding = String(repeating: " ", count: max(0, widths[column] - cell.width))
                let isLast = column == row.count - 1
                text += columns[column].isNumber ? padding + cell.text : cell.text + (isLast ? "" : padding)
                text += isLast ? "\n" : "  "
            }
        }
        return text
    }
}
