import ArgumentParser
import Foundation
import MediaVault
import VaultModel
import VaultService

/// A duration in seconds with a unit: `90d`, `12h`, `30m`, `45s`; a bare 0 is none.
enum AgeArgument {
    /// Returns the number of seconds.
    ///
    /// - Parameter option: the option or setting that the error names.
    static func parse(_ text: String, _ option: String) throws -> Int64 {
        if text == "0" { return 0 }
        guard let age = Quantity.parse(text, in: Quantity.times, upTo: ContentInformation.maxBytes)
        else { throw UsageError("\(option) must be a number and a unit: 90d, 12h, 30m or 45s") }
        return age
    }

    /// Returns the duration as ``parse(_:_:)`` accepts it, in the largest unit that divides it.
    static func text(_ seconds: Int64) -> String {
        seconds == 0 ? "0" : Quantity.text(seconds, in: Quantity.times)
    }
}

/// Bytes per second, in every spelling of ``Quantity/rate(_:upTo:)``.
struct ByteRate: Hashable, Sendable, ExpressibleByArgument {
    let bytesPerSecond: Int64

    /// The forms of a rate, for help.
    static let forms = "500k, 5MB/s, 1.5MiB/s or 40Mbit/s"

    init?(argument: String) {
        guard let rate = Quantity.rate(argument), rate > 0 else { return nil }
        bytesPerSecond = rate
    }
}

/// A number of bytes with its unit, in every spelling of ``Quantity/size(_:upTo:)``.
enum SizeArgument {
    /// The forms of a size, for help.
    static let forms = "500M, 200 MiB, 1.5GB"

    /// Returns the number of bytes.
    ///
    /// - Parameter option: the option or setting that the error names.
    static func parse(_ text: String, _ option: String) throws -> Int64 {
        guard let bytes = SizeText.bytes(of: text) else { throw UsageError(SizeText.advice(for: option)) }
        return bytes
    }
}

/// A percentage above 0 and up to 100: `5`, `0.5`, `5%`.
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

/// The value of `--range`: `A-B` (first and last byte), `A-`, or `-N` (the last N bytes), as in HTTP.
enum RangeArgument {
    static func parse(_ text: String) throws -> RequestedRange {
        guard case .ranges(let ranges) = RangeHeader("bytes=" + text), ranges.count == 1 else {
            throw UsageError(
                "--range must be one range: A-B (first and last byte), A-, or -N (the last N bytes)")
        }
        return ranges[0]
    }
}

/// A mode by its name; `default` is none.
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

/// When a token or a link expires: `90s`, `24h`, `30d`, a day, a time, or `never`.
enum ExpiryArgument {
    /// The forms, for help.
    static let forms = "30d, never, or a day such as 2027-01-31, at whose beginning (UTC) it ends"

    static func parse(_ text: String) throws -> GrantExpiry {
        if text == "never" { return .never }
        if let time = Timestamp(text) ?? Timestamp(text + "T00:00:00Z") { return .at(time) }
        guard let seconds = Quantity.parse(text, in: Quantity.times), seconds > 0 else {
            throw UsageError("--expires must be a number and a unit, such as 90s, 24h or 30d, a day, or never")
        }
        return .after(seconds)
    }

    /// Checks the expiry of a link without a name.
    static func checkUnnamed(_ expiry: GrantExpiry) throws {
        do {
            _ = try expiry.endOfUnnamed(now: Int64(Date().timeIntervalSince1970))
        } catch {
            throw UsageError(
                "--expires must be between 1s and 365d from now; links with a --name may be valid longer, or for ever")
        }
    }
}
