import VaultModel

/// Measures the pace of a running download, period by period. It is a value type.
struct DownloadPace: Hashable, Sendable {
    /// How many seconds each measurement covers. This is longer than an origin may be silent before it counts as gone.
    static let period: Int64 = 60

    private var since: Int64
    private var heldThen: Int64
    /// When the held bytes last grew.
    private var grew: Int64
    /// Whether the download was too slow in the last period.
    private(set) var isSlow = false

    /// - Parameters:
    ///   - held: the number of bytes held.
    ///   - time: the current time, in seconds since 1970.
    init(held: Int64, at time: Int64) { (since, heldThen, grew) = (time, held, time) }

    /// Measures the pace if a period has passed.
    ///
    /// An origin that does not support ranges first sends the held bytes again. For as long as that would take at the
    /// least rate, a lack of new bytes does not count as a standstill.
    ///
    /// A period is discarded if it was not measured in time, for example because the clock was set, or if held bytes
    /// were dropped during it.
    ///
    /// - Parameter leastRate: the rate, in bytes per second, below which the download is slow.
    mutating func measure(held: Int64, leastRate: Int64, at time: Int64) {
        guard (since..<since + 3 * Self.period).contains(time), held >= heldThen else {
            self = DownloadPace(held: held, at: time)
            return
        }
        guard time - since >= Self.period else { return }
        if held > heldThen {
            (isSlow, grew) = ((held - heldThen) / (time - since) < leastRate, time)
        } else {
            isSlow = leastRate > 0 && time - grew > held / leastRate
        }
        (since, heldThen) = (time, held)
    }
}

extension DownloadSettings {
    /// The rate, in bytes per second, that each download must reach: at most half of its share of the rate limit.
    var leastRateOfEach: Int64 {
        bytesPerSecond.map { min(leastRate, $0 / Int64(2 * parallel)) } ?? leastRate
    }
}
