/// How a vault downloads: how many downloads of its queue run at a time, at which hours, how fast, and in which
/// languages.
///
/// These are sealed settings of the vault. A change takes effect at once.
public struct DownloadSettings: Hashable, Sendable {
    /// The maximum number of queued downloads that run at a time: 1 to ``maxParallel``.
    public private(set) var parallel = Self.usualParallel
    /// The maximum number of queued downloads that run at a time for one host and port: 1 to ``maxParallel``.
    public private(set) var perHost = Self.usualPerHost
    /// The hours of the day in which the queue runs; nil means always.
    public var hours: DownloadHours?
    /// The maximum rate of all queued downloads together, in bytes per second; nil means no limit.
    public private(set) var bytesPerSecond: Int64?

    /// The rate, in bytes per second, below which a download gives up its place to a waiting one; 0 means never.
    public private(set) var leastRate = Self.usualLeastRate

    /// The languages of the audio and the subtitles to fetch if a download names none, as RFC 5646 tags; none means what
    /// a title starts with.
    public private(set) var languages: [String] = []

    /// The maximum number of downloads at a time. More would gain nothing, and would burden origins and the disk.
    public static let maxParallel = 16
    /// The number of downloads that run at a time in a new vault.
    public static let usualParallel = 3
    /// The number of downloads that run at a time for one host in a new vault. It is smaller than ``usualParallel``, so
    /// that a slow host does not hold up the others.
    public static let usualPerHost = 2

    /// The value of ``leastRate`` in a new vault, which is slower than any connection on which media can be played.
    public static let usualLeastRate: Int64 = 4000

    /// Creates the settings of a new vault.
    public init() {}

    /// Sets the number of downloads that run at a time.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the number is not from 1 to ``maxParallel``.
    public mutating func setParallel(_ count: Int) throws {
        parallel = try Self.checked(count, "parallel-downloads")
    }

    /// Sets the number of downloads that may run at a time for one host and port.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the number is not from 1 to ``maxParallel``.
    public mutating func setPerHost(_ count: Int) throws { perHost = try Self.checked(count, "downloads-per-host") }

    /// Sets the maximum rate in bytes per second; nil or 0 means no limit.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the rate is negative or too large.
    public mutating func setRate(_ rate: Int64?) throws {
        guard (0...ContentInformation.maxBytes).contains(rate ?? 0) else {
            throw VaultError(.invalidArgument, "download-rate must not be negative; give bytes per second")
        }
        bytesPerSecond = rate == 0 ? nil : rate
    }

    /// Sets the rate, in bytes per second, below which a download gives up its place to a waiting one; 0 means never.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the rate is negative or too large.
    public mutating func setLeastRate(_ rate: Int64) throws {
        guard (0...ContentInformation.maxBytes).contains(rate) else {
            throw VaultError(
                .invalidArgument, "least-rate must be 0 to \(ContentInformation.maxBytes) bytes per second")
        }
        leastRate = rate
    }

    /// Sets the languages of the audio and the subtitles to fetch if a download names none.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if one of them is not an RFC 5646 tag, or if there are more
    ///   than 64.
    public mutating func setLanguages(_ languages: [String]) throws {
        try LanguageList.check(languages)
        self.languages = languages
    }

    private static func checked(_ count: Int, _ name: String) throws -> Int {
        guard (1...maxParallel).contains(count) else {
            throw VaultError(.invalidArgument, "\(name) must be a number from 1 to \(maxParallel)")
        }
        return count
    }
}

/// The hours of the day, in local time, in which the queue runs: `01:00-06:00`, or across midnight `22:30-06:00`.
public struct DownloadHours: Hashable, Sendable, CustomStringConvertible {
    /// The minute of the day at which the hours begin.
    let first: Int
    /// The minute of the day at which the hours end.
    let end: Int

    /// The number of minutes in a day.
    static let day = 24 * 60

    /// Parses two times of day with a hyphen between them. Equal times mean the whole day.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the text is anything else.
    public init(_ text: String) throws {
        let times = text.split(separator: "-", omittingEmptySubsequences: false).map(Self.minute)
        guard times.count == 2, let first = times[0], let end = times[1] else {
            throw VaultError(.invalidArgument, "download-hours must be two times of the day, such as 01:00-06:00")
        }
        (self.first, self.end) = (first % Self.day, end % Self.day)
    }

    /// Returns the minute of the day that a time in the form `HH:MM` denotes, up to `24:00`; nil for any other text.
    private static func minute(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy(isDigit) }),
            let hour = Int(parts[0]), let minute = Int(parts[1]), minute < 60, hour * 60 + minute <= day
        else { return nil }
        return hour * 60 + minute
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Returns whether these hours include a second of the day, counted from midnight.
    package func contains(secondOfDay: Int) -> Bool {
        let minute = secondOfDay / 60
        return first < end ? (first..<end).contains(minute) : minute >= first || minute < end
    }

    /// Returns the number of seconds, at least 1, until these hours next begin or end.
    package func secondsUntilChange(secondOfDay: Int) -> Int {
        let next = contains(secondOfDay: secondOfDay) ? end : first
        let (left, day) = (next * 60 - secondOfDay, Self.day * 60)
        return left > 0 ? left : left + day
    }

    /// The hours in the form that ``init(_:)`` parses.
    public var description: String { "\(Self.text(first))-\(Self.text(end))" }

    private static func text(_ minute: Int) -> String {
        [minute / 60, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}
