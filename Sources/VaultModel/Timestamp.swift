/// A point in time to the second, as JSON and people write it: `2026-11-23T22:15:00Z` (RFC 3339).
public struct Timestamp: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The seconds since the beginning of 1970, not counting leap seconds.
    public let seconds: Int64

    /// Creates a time from seconds since the beginning of 1970. A time outside the years 0 to 9999 is replaced by the
    /// nearest one within them.
    public init(seconds: Int64) {
        let range = HTTPDate.writable
        self.seconds = min(max(seconds, range.lowerBound), range.upperBound - 1)
    }

    /// Parses the form that ``description`` writes; nil for any other text.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10] == UInt8(ascii: "T"), bytes[19] == UInt8(ascii: "Z"),
            let seconds = HTTPDate.seconds(
                day: HTTPDate.number(bytes[8..<10]), month: HTTPDate.number(bytes[5..<7]),
                year: HTTPDate.number(bytes[0..<4]), time: bytes[11..<19])
        else { return nil }
        self.init(seconds: seconds)
    }

    /// Returns whether one time is before the other.
    public static func < (one: Timestamp, other: Timestamp) -> Bool { one.seconds < other.seconds }

    /// The time in UTC, in the form of RFC 3339.
    public var description: String {
        let (year, month, day) = HTTPDate.date(seconds.floored(by: 86_400))
        let date = [HTTPDate.padded(year, 4), HTTPDate.padded(month, 2), HTTPDate.padded(day, 2)]
        return date.joined(separator: "-") + "T" + HTTPDate.time(seconds) + "Z"
    }
}

extension Timestamp: Codable {
    /// Decodes the time from its text.
    ///
    /// - Throws: `DecodingError` if the text is not a time in UTC.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let time = Timestamp(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a time in UTC")
        }
        self = time
    }

    /// Encodes the time as its text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// A number of seconds since the beginning of 1970 that JSON represents as a time in UTC, as ``Timestamp`` writes it.
@propertyWrapper
public struct AsTimestamp: Codable, Hashable, Sendable {
    /// The seconds since the beginning of 1970.
    public var wrappedValue: Int64

    /// Wraps a number of seconds.
    public init(wrappedValue: Int64) { self.wrappedValue = wrappedValue }

    /// Decodes the time from its text.
    ///
    /// - Throws: `DecodingError` if the text is not a time in UTC.
    public init(from decoder: any Decoder) throws { wrappedValue = try Timestamp(from: decoder).seconds }

    /// Encodes the time as its text.
    public func encode(to encoder: any Encoder) throws { try Timestamp(seconds: wrappedValue).encode(to: encoder) }
}
