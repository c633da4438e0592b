import ArgumentParser
import MediaVault
import VaultModel
import VaultService

/// A duration with a unit, such as `90d`, `12h`, `30m` or `45s`. A bare 0 means no limit.
enum AgeArgument {
    /// Returns the number of seconds that a text denotes.
    ///
    /// - Parameter option: the option or setting that the error message names.
    static func parse(_ text: String, _ option: String) throws -> Int64 {
        if text == "0" || NoLimit.isMeant(by: text) { return 0 }
        guard let age = Quantity.parse(text, in: units, upTo: ContentInformation.maxBytes)
        else { throw UsageError("\(option) must be a number and a unit: 90d, 2w, 12h, 30m or 45s, or none") }
        return age
    }

    /// The accepted units. A year has 365 days.
    static let units: [Quantity.Unit] = Quantity.times + [("w", 7 * 86_400), ("y", 365 * 86_400)]

    /// Returns the text of a duration in the largest unit that divides it, in a form that ``parse(_:_:)`` accepts.
    static func text(_ seconds: Int64) -> String {
        seconds == 0 ? "0" : Quantity.text(seconds, in: Quantity.times)
    }
}

/// A number of bytes per second, in any spelling that ``Quantity/rate(_:upTo:)`` accepts.
struct ByteRate: Hashable, Sendable, ExpressibleByArgument {
    let bytesPerSecond: Int64

    /// Examples of a rate, for the help.
    static let forms = "500k, 5MB/s, 1.5MiB/s or 40Mbit/s"

    init?(argument: String) {
        guard let rate = Quantity.rate(DecimalComma.replaced(in: argument)), rate > 0 else { return nil }
        bytesPerSecond = rate
    }
}

/// A number of bytes with its unit, in any spelling that ``Quantity/size(_:upTo:)`` accepts.
enum SizeArgument {
    /// Examples of a size, for the help.
    static let forms = "500M, 200 MiB, 1.5GB"

    /// Returns the number of bytes that a text denotes.
    ///
    /// - Parameter option: the option or setting that the error message names.
    static func parse(_ text: String, _ option: String) throws -> Int64 {
        if NoLimit.isMeant(by: text) { return 0 }
        guard let bytes = SizeText.bytes(of: DecimalComma.replaced(in: text)) else {
            throw UsageError(SizeText.advice(for: option) + "; 0 or none means no limit")
        }
        return bytes
    }
}

/// The words that mean no limit, in place of 0.
enum NoLimit {
    static func isMeant(by text: String) -> Bool { ["none", "unlimited", "off"].contains(text.lowercased()) }
}

/// The decimal comma that many languages use, as in `1,5G`.
enum DecimalComma {
    /// Returns the text with a point in place of the comma. A comma before three digits stays, because it may separate
    /// thousands.
    static func replaced(in text: String) -> String {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return text
        }
        let digits = parts[1].utf8.prefix { (0x30...0x39).contains($0) }.count
        return digits == 0 || digits == 3 ? text : parts.joined(separator: ".")
    }
}

/// The hours of a day, such as `01:00-06:00` or `1:00 - 6:00`.
enum HoursArgument {
    /// Returns the hours in the form that the setting has. Several words are joined with spaces. An empty result means
    /// always.
    static func parse(_ words: [String]) throws -> String {
        let text = words.joined(separator: " ")
        guard !text.isEmpty else { throw UsageError("download-hours needs two times of the day, such as 01:00-06:00") }
        if NoLimit.isMeant(by: text) { return "" }
        let times = text.split(separator: "-", omittingEmptySubsequences: false).map { time in
            let bare = time.filter { $0 != " " }
            return bare.prefix { $0 != ":" }.count == 1 ? "0" + bare : String(bare)
        }
        return try DownloadHours(times.joined(separator: "-")).description
    }
}

/// A percentage greater than 0 and at most 100, such as `5`, `0.5` or `5%`.
struct SamplePercent: Hashable, Sendable, ExpressibleByArgument {
    let percent: Double

    init?(argument: String) {
        let number = argument.hasSuffix("%") ? String(argument.dropLast()) : argument
        guard number.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }), let percent = Double(number),
            percent > 0, percent <= 100
        else { return nil }
        self.percent = percent
    }
}

/// The value of `--range`, which is, as in HTTP, `A-B` (first and last byte), `A-`, or `-N` (the last N bytes).
enum RangeArgument {
    static func parse(_ text: String) throws -> RequestedRange {
        guard case .ranges(let ranges) = RangeHeader("bytes=" + text), ranges.count == 1 else {
            throw UsageError(
                "--range must be one range: A-B (first and last byte), A-, or -N (the last N bytes)")
        }
        return ranges[0]
    }
}

/// A mode, identified by its name. The name `default` means that no mode is set.
struct ModeArgument: Hashable, Sendable, ExpressibleByArgument {
    let mode: VaultMode?

    init?(argument: String) {
        guard let named = try? NamedMode(argument) else { return nil }
        mode = named.mode
    }

    static let defaultCompletionKind = CompletionKind.list(allValueStrings)

    static let allValueStrings = VaultMode.allCases.map(\.rawValue) + [NamedMode(nil).description]

    /// The name of the mode.
    var name: String { NamedMode(mode).description }
}

/// The expiry of a token or a link, such as `90s`, `24h`, `30d`, a day, a time, or `never`.
enum ExpiryArgument {
    /// Examples of an expiry, for the help.
    static let forms = "30d, a date such as 2027-01-31, or never; it ends when that day begins (UTC)"

    static func parse(_ text: String) throws -> GrantExpiry {
        if text == "never" { return .never }
        if let time = Timestamp(text) ?? Timestamp(text + "T00:00:00Z") { return .at(time) }
        guard let seconds = Quantity.parse(text, in: AgeArgument.units), seconds > 0 else {
            throw UsageError(
                "--expires must be a number and a unit, such as 24h or 30d, a date such as 2027-01-31, or never")
        }
        return .after(seconds)
    }

    /// Checks the expiry of a link without a name.
    static func checkUnnamed(_ expiry: GrantExpiry) throws {
        do {
            _ = try expiry.endOfUnnamed(now: WallClock.now())
        } catch {
            throw UsageError(
                "--expires must be between 1s and 365d from now; links with a --name may be valid longer, or for ever")
        }
    }
}

extension [String] {
    /// The words of some arguments, each of which may be several words with commas between them.
    var separatedAtCommas: [String] { flatMap { $0.split(separator: ",").map(String.init) } }
}
