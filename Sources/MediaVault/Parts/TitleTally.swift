import VaultModel

/// Counts the progress of a title's parts. It is a value type without I/O.
struct TitleTally: Hashable {
    /// The number of parts, excluding those that turned out not to exist.
    private(set) var count: Int
    /// The number of bytes that the bit rates suggest; nil if the bit rates are unknown.
    let expected: Int64?
    /// The number of parts that are held whole, and the number of bytes in them.
    private(set) var done = 0
    private(set) var bytes: Int64 = 0
    /// The parts that are being fetched, by part number.
    private var running: [Int: Part] = [:]

    private struct Part: Hashable {
        var held: Int64
        var length: Int64?
    }

    /// How many known sizes are enough to be typical of all: `fewest`, or one in `share` if that is more.
    private static let fewest = 8
    private static let share = 20

    /// Creates a tally with nothing held.
    init(count: Int, expected: Int64? = nil) {
        self.count = count
        self.expected = expected
    }

    /// Notes how much of a part is held.
    mutating func note(_ part: Int, held: Int64, length: Int64?) { running[part] = Part(held: held, length: length) }

    /// Notes that a part is held whole.
    mutating func finish(_ part: Int, length: Int64) {
        running[part] = nil
        done += 1
        bytes += length
    }

    /// Notes that a part cannot be fetched; its held bytes do not count.
    mutating func give(up part: Int) { running[part] = nil }

    /// Notes that a part does not exist, and that the title is complete without it.
    mutating func leaveOut(_ part: Int) {
        running[part] = nil
        count -= 1
    }

    /// The number of bytes that are held, or on their way into the vault.
    var held: Int64 { running.values.reduce(bytes) { $0 + $1.held } }

    /// The number of bytes in all parts: exact once all are held, an estimate before that; nil while nothing is known.
    ///
    /// Until all parts are held, this is always greater than ``held``.
    var total: Int64? {
        guard done < count else { return bytes }
        let lengths = running.values.compactMap(\.length)
        let (known, sum) = (done + lengths.count, lengths.reduce(bytes, +))
        let isTypical = known >= min(count, max(Self.fewest, count / Self.share))
        guard isTypical || expected == nil else { return max(expected ?? 0, held + 1) }
        guard known > 0 else { return nil }
        let rest = (Double(sum) / Double(known) * Double(count - known)).rounded()
        return max(sum + (Int64(exactly: min(rest, Double(ContentInformation.maxBytes))) ?? 0), held + 1)
    }

    /// Returns the number of bytes that the bit rates suggest; nil if they suggest none.
    ///
    /// - Parameters:
    ///   - rates: the bit rates of the renditions, in bits per second; they are added up.
    ///   - duration: how long the title plays; nil if unknown.
    static func size(atRates rates: [Int], for duration: Duration?) -> Int64? {
        guard let duration, !rates.isEmpty else { return nil }
        let seconds = Double(duration.components.seconds)
        let bytes = rates.reduce(0.0) { $0 + Double(max(0, $1)) } / 8 * seconds
        return bytes > 0 && bytes < Double(ContentInformation.maxBytes) ? Int64(bytes) : nil
    }
}

/// Decides whether to fetch the rest of a title after a part has failed. It is a value type without I/O.
struct TitleFailures {
    /// The number of parts that cannot be fetched.
    private(set) var count = 0
    /// The errors of the first parts that failed.
    private(set) var errors: [VaultError] = []

    /// The number of failures that indicates that the title itself cannot be fetched, for example because its links
    /// expired.
    static let most = 16
    /// The codes of failures that need not affect other parts.
    private static let ofOnePart: Set<VaultError.Code> = [
        .refused, .invalidResponse, .invalidURL, .changed, .notMedia,
    ]

    /// Returns whether another place may deliver the part although this one failed.
    static func isOfPlace(_ error: VaultError) -> Bool { error.code == .unreachable || ofOnePart.contains(error.code) }

    /// Records a failure.
    ///
    /// - Returns: whether to continue with other parts. They may still be available, unless the network or the store
    ///   failed.
    mutating func note(_ error: VaultError) -> Bool {
        count += 1
        if errors.count < Self.most { errors.append(error) }
        return count < Self.most && Self.ofOnePart.contains(error.code)
            && !(500...599).contains(error.originStatus ?? 0) && error.originStatus != 429
    }

    /// Returns the error for a title with missing parts; nil if none is missing.
    func error(of url: MediaURL, parts: Int) -> VaultError? {
        guard var error = errors.first else { return nil }
        error.message =
            "\(count) of \(parts) parts of \(url) could not be fetched, the others are kept: \(error.message)"
        error.firstMissing = nil
        return error
    }
}
