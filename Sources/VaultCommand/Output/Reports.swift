import Foundation
import MediaVault
import VaultModel
import VaultService

/// Formats the output of `keys audit` for people.
enum AuditText {
    static func text(_ report: AuditReport) -> String {
        var text = report.receipts.map(line).joined()
        text += report.faults.map(line).joined()
        let verdict = report.isSound ? "sound" : "not sound"
        text += "\(Count.of(report.receipts.count, "receipt")), \(verdict)"
        if let key = report.publicKey { text += ", key \(key)" }
        return Terminal.printable(text.replacing("\n", with: "\u{2028}")).replacing("\u{2028}", with: "\n") + "\n"
    }

    private static func line(_ receipt: Receipt) -> String {
        var facts = ["\(receipt.sequence)", time(receipt.time), receipt.act.rawValue, receipt.outcome.rawValue]
        facts.append("generation \(receipt.generation)")
        if let resources = receipt.resources { facts.append(Count.of(resources, "key")) }
        if let subject = receipt.subject { facts.append("title \(subject)") }
        return facts.joined(separator: "  ") + "\n"
    }

    private static func line(_ fault: AuditFault) -> String {
        let what =
            switch fault.kind {
            case .unreadable: "is not a receipt"
            case .signature: "was changed: its signature does not match its content"
            case .stranger: "belongs to another vault, or was signed with another key"
            case .sequence: "is in the wrong place: lines before it are missing or were swapped"
            case .chain: "does not follow the line before it"
            case .cut: "and all later lines are missing: the keyring records more of them"
            }
        return "line \(fault.line) \(what)\n"
    }

    private static func time(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: TimeInterval(seconds)).ISO8601Format()
    }
}

/// Formats the sources of bytes for people, with a paragraph for each answer and a line for each run.
enum ExplanationText {
    static func text(_ document: ExplanationDocument) -> String {
        var text = FactText.text([
            ("url", document.url), ("size", document.size.map(String.init) ?? "unknown"),
            ("held", RangeText.text(document.held)),
        ])
        if document.answers.isEmpty {
            text += "no answers: the service has given none since it started, or is not running\n"
        }
        for answer in document.answers { text += paragraph(answer) }
        return text
    }

    private static func paragraph(_ answer: ExplanationDocument.Entry) -> String {
        let when = answer.ended.map { Date(timeIntervalSince1970: TimeInterval($0)).formatted(.iso8601) }
        var text = "\n\(when ?? "now"), \(ByteCount.text(answer.bytes))\n"
        for run in answer.runs {
            text += "  \(run.first)-\(run.end - 1)  \(words(run))\n"
        }
        if answer.omitted > 0 { text += "  and \(ByteCount.text(answer.omitted)) in further runs\n" }
        return text
    }

    private static func words(_ run: ExplanationDocument.Run) -> String {
        switch run.source {
        case .vault: "from the vault"
        case .origin: "from the origin, and stored"
        case .unstored: "from the origin, not stored"
        }
    }
}

/// Formats the output of `verify` for people.
enum VerifyText {
    static func text(_ report: VerifyReport) -> String {
        var facts = [("opened", "\(ByteCount.text(report.bytesOpened)) in \(Count.of(report.segments, "segment"))")]
        facts.append(("damage", damage(report.damage)))
        if report.found > 0 { facts.append(("remaining", String(report.remaining))) }
        if report.restored > 0 {
            facts.append(("restored", "\(Count.of(report.restored, "title")) from catalog.backup"))
        }
        for records in report.records {
            let state = records.isRepaired ? "deleted, because nothing opens them" : records.problem ?? "damaged"
            facts.append((records.kind, "\(records.count): \(state)"))
        }
        if report.bytesRefetched > 0 { facts.append(("fetched again", ByteCount.text(report.bytesRefetched))) }
        if report.unreadable > 0 {
            facts.append(("unreadable", "\(Count.of(report.unreadable, "file")): check the disk"))
        }
        let orphans = report.orphans
        if orphans.good + orphans.strange > 0 {
            facts.append(
                (
                    "not in index",
                    "\(Count.of(orphans.good, "segment")) (\(orphans.adopted) adopted), \(Count.of(orphans.strange, "other file")) "
                        + "(\(orphans.quarantined) moved to quarantine)"
                ))
        }
        let more = report.damagedResources - report.resources.count
        return FactText.text(facts) + report.resources.map(line).joined() + (more > 0 ? "and \(more) more\n" : "")
    }

    private static func damage(_ damage: [DamageClass: Int]) -> String {
        let found = DamageClass.allCases.compactMap { kind in
            damage[kind].map { "\(name(kind)): \($0)" }
        }
        return found.isEmpty ? "none" : found.joined(separator: ", ")
    }

    private static func name(_ kind: DamageClass) -> String {
        switch kind {
        case .missing: "files missing"
        case .size: "files of the wrong size"
        case .header: "damaged headers"
        case .key: "wrong keys"
        case .block: "bad blocks"
        case .row: "impossible index rows"
        case .resource: "titles that no key opens"
        case .settings: "settings that do not open"
        case .record: "records that do not open"
        }
    }

    private static func line(_ resource: DamagedResource) -> String {
        let ranges = resource.ranges.isEmpty ? "" : " " + RangeText.text(resource.ranges.prefix(8))
        let rest = resource.ranges.count > 8 ? ", …" : ""
        let isRemoved = resource.isRepaired && resource.damage[.resource] != nil
        let state = isRemoved ? "removed" : resource.isRepaired ? "repaired" : resource.problem ?? "damaged"
        return Terminal.printable(
            "\(resource.url ?? resource.id)\(ranges)\(rest): \(state)") + "\n"
    }
}

/// Formats byte ranges for people, such as `0-4, 7-8`.
enum RangeText {
    static func text(_ ranges: some Collection<ByteRange>) -> String {
        let all = ranges.map { "\($0.lowerBound)-\($0.upperBound - 1)" }.joined(separator: ", ")
        return all.isEmpty ? "nothing" : all
    }
}

/// Formats facts for people, with a name and a value on each line.
enum FactText {
    static func text(_ facts: [(name: String, value: String)]) -> String {
        TextTable.text(facts.map { [$0.name, Terminal.printable($0.value)] })
    }
}

/// Formats tables of text, whose columns are two spaces apart. The last column is not padded.
enum TextTable {
    /// Returns the table with the given rows, which all have the same number of cells.
    static func text(_ rows: [[String]]) -> String {
        let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            (zip(row.dropLast(), widths).map(left) + row.suffix(1)).joined(separator: "  ") + "\n"
        }.joined()
    }

    /// Returns a left-aligned cell.
    static func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    /// Returns a right-aligned cell.
    static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}

/// Formats descriptions of a title with several resources for people.
enum TitleText {
    /// Returns a short description, such as `HLS 480p en 1:30:00`.
    static func kind(_ title: Title) -> String {
        let heights = title.renditions.filter { $0.kind == .video }.compactMap(\.height)
        let languages = title.renditions.filter { $0.kind == .audio }.compactMap(\.language)
        let words: [String?] = [
            title.kind == .hls ? "HLS" : "DASH", heights.max().map { "\($0)p" },
            languages.isEmpty ? nil : distinct(languages).joined(separator: ","),
            title.duration.map { ClockText.text(seconds: $0 / 1000) },
        ]
        return words.compactMap(\.self).joined(separator: " ")
    }

    /// Returns a title's facts as pairs of a name and a value.
    static func facts(_ title: Title) -> [(name: String, value: String)] {
        [
            ("bytes", String(title.bytes)), ("resources", String(title.resources)),
            ("duration", title.duration.map { ClockText.text(seconds: $0 / 1000) } ?? "unknown"),
            ("video", renditions(.video, of: title)), ("audio", renditions(.audio, of: title)),
            ("subtitles", renditions(.subtitles, of: title)), ("complete", title.isComplete ? "yes" : "no"),
        ] + others(of: title) + title.missing.map { ("missing", $0) }
    }

    /// Returns the languages that the title has and that were not fetched, by kind.
    static func others(of title: Title) -> [(name: String, value: String)] {
        [("other audio", title.otherAudio), ("other subtitles", title.otherSubtitles)]
            .filter { !$0.1.isEmpty }.map { ($0.0, $0.1.joined(separator: ", ")) }
    }

    /// Returns a sentence about the audio if the title lacks a requested language, and likewise one about the
    /// subtitles, and one about the languages that were not fetched.
    static func languageNotes(_ title: Title, asked selection: RenditionSelection) -> [String] {
        let (audio, subtitles) = title.missingLanguages(of: selection)
        let others = others(of: title).map { "\($0.name) \($0.value)" }
        let notes = others.isEmpty ? [] : ["note: not fetched: \(others.joined(separator: "; "))"]
        return [(audio, "audio", Rendition.Kind.audio), (subtitles, "subtitles", .subtitles)].compactMap {
            (languages: [String], noun: String, kind: Rendition.Kind) in
            guard !languages.isEmpty else { return nil }
            let fetched = title.renditions.contains { $0.kind == kind } ? renditions(kind, of: title) : "none"
            return "note: the title has no \(noun) in \(languages.joined(separator: ", ")); fetched: \(fetched)"
        } + notes
    }

    private static func renditions(_ kind: Rendition.Kind, of title: Title) -> String {
        let texts = title.renditions.filter { $0.kind == kind }.map { rendition in
            let words = [
                rendition.height.map { "\($0)p" }, rendition.language, rendition.name,
                rendition.bandwidth.map { "\($0 / 1000) kbit/s" },
            ].compactMap(\.self)
            return words.isEmpty ? rendition.id : words.joined(separator: " ")
        }
        return texts.isEmpty ? (kind == .subtitles ? "none fetched" : "none to choose") : texts.joined(separator: ", ")
    }

    private static func distinct(_ texts: [String]) -> [String] {
        var known: Set<String> = []
        return texts.filter { known.insert($0).inserted }
    }
}

/// Formats durations for people, such as `0:07`, `12:34` or `1:30:00`.
enum ClockText {
    static func text(seconds: Int64) -> String {
        let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60)
        let padded = { (number: Int64) in number < 10 ? "0\(number)" : "\(number)" }
        return hours > 0 ? "\(hours):\(padded(minutes)):\(padded(rest))" : "\(minutes):\(padded(rest))"
    }
}

/// Formats a number with its noun.
enum Count {
    /// Returns a text such as `1 title` or `2 titles`.
    ///
    /// - Parameter plural: the plural of the noun; nil if it only adds an s.
    static func of(_ number: some BinaryInteger, _ noun: String, _ plural: String? = nil) -> String {
        "\(number) \(number == 1 ? noun : plural ?? noun + "s")"
    }
}

/// Formats numbers of bytes for people, such as `999 B` or `12.3 MB`. The units are powers of ten.
enum ByteCount {
    static func text(_ count: Int64) -> String { Quantity.readable(bytes: count) }
}

/// The totals for several fetched titles.
struct FetchTotal: Hashable, Sendable {
    private let titles: Int
    private let complete: Int
    private let bytes: Int64

    init(_ records: [FetchedRecord]) {
        titles = records.count
        complete = records.count { $0.complete }
        bytes = records.reduce(0) { $0 + $1.bytes }
    }

    var sentence: String { "\(complete) of \(Count.of(titles, "title")) complete, \(ByteCount.text(bytes)) in total" }
}
