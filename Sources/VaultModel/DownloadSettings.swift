/// How a vault works through its download queue: how many downloads run, when, and how fast.
///
/// These are sealed settings of the vault; changes take effect at once.
public struct DownloadSettings: Hashable, Sendable {
    /// How many queued downloads run at a time: 1 to ``maxParallel``.
    public private(set) var parallel = Self.usualParallel
    /// How many of them may run for one host and port: 1 to ``maxParallel``.
    public private(set) var perHost = Self.usualPerHost
    /// The hours of the day in which the queue runs; nil means always.
    public var hours: DownloadHours?
    /// Maximum bytes per second of all queued downloads together; nil means no limit.
    public private(set) var bytesPerSecond: Int64?

    /// The bytes per second below which a download yields its place to one that waits; 0 means never.
    public private(set) var leastRate = Self.usualLeastRate

    /// Maximum downloads at a time: more gain nothing, and burden origins and the disk.
    public static let maxParallel = 16
    /// How many downloads run at a time in a new vault.
    public static let usualParallel = 3
    /// How many of them run for one host in a new vault: fewer, so that a slow host does not hold up the others.
    public static let usualPerHost = 2

    /// The least rate in a new vault: slower than any connection on which media can be played.
    public static let usualLeastRate: Int64 = 4000

    /// Creates the settings of a new vault.
    public init() {}

    /// Sets how many downloads run at a time.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    public mutating func setParallel(_ count: Int) throws {
        parallel = try Self.checked(count, "parallel-downloads")
    }

    /// Sets how many of them may run for one host and port.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    public mutating func setPerHost(_ count: Int) throws { perHost = try Self.checked(count, "downloads-per-host") }

    /// Sets the maximum bytes per second; nil or 0 means no limit.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    public mutating func setRate(_ rate: Int64?) throws {
        guard (0...ContentInformation.maxBytes).contains(rate ?? 0) else {
            throw VaultError(.invalidArgument, "download-rate must not be negative; give bytes per second")
        }
        bytesPerSecond = rate == 0 ? nil : rate
    }

    /// Sets the bytes per second below which a download yields its place to one that waits; 0 means never.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    public mutating func setLeastRate(_ rate: Int64) throws {
        guard (0...ContentInformation.maxBytes).contains(rate) else {
            throw VaultError(
                .invalidArgument, "least-rate must be 0 to \(ContentInformation.maxBytes) bytes per second")
        }
        leastRate = rate
    }

    private static func checked(_ count: Int, _ name: String) throws -> Int {
        guard (1...maxParallel).contains(count) else {
            throw VaultError(.invalidArgument, "\(name) must be a number from 1 to \(maxParallel)")
        }
        return count
    }
}

/// Hours of the day in local time, such as `01:00-06:00`, or across midnight `22:30-06:00`.
public struct DownloadHours: Hashable, Sendable, CustomStringConvertible {
    /// The first minute of the day.
    let first: Int
    /// The minute of the day at which the hours end.
    let end: Int

    /// The number of minutes in a day.
    static let day = 24 * 60

    /// Parses two times of the day with a hyphen between them. Equal times mean the whole day.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    public init(_ text: String) throws {
        let times = text.split(separator: "-", omittingEmptySubsequences: false).map(Self.minute)
        guard times.count == 2, let first = times[0], let end = times[1] else {
            throw VaultError(.invalidArgument, "download-hours must be two times of the day, such as 01:00-06:00")
        }
        (self.first, self.end) = (first % Self.day, end % Self.day)
    }

    /// Returns the minute of the day that `HH:MM` names, up to `24:00`; nil if the text is not such a time.
    private static func minute(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy(isDigit) }),
            let hour = Int(parts[0]), let minute = Int(parts[1]), minute < 60, hour * 60 + minute <= day
        else { return nil }
        return hour * 60 + minute
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Returns whether a second of the day, counted from midnight, is within these hours.
    package func contains(secondOfDay: Int) -> Bool {
        let minute = secondOfDay / 60
        return first < end ? (first..<end).contains(minute) : minute >= first || minute < end
    }

    /// Returns the seconds until these hours begin or end next, at least 1.
    package func secondsUntilChange(secondOfDay: Int) -> Int {
        let next = contains(secondOfDay: secondOfDay) ? end : first
        let (left, day) = (next * 60 - secondOfDay, Self.day * 60)
        return left > 0 ? left : left + day
    }

    /// The text that ``init(_:)`` parses.
    public var description: String { "\(Self.text(first))-\(Self.text(end))" }

    private static func text(_ minute: Int) -> String {
        [minute / 60, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}
