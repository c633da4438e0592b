import VaultModel

/// The pace of a running download, period by period: a value.
struct DownloadPace: Hashable, Sendable {
    /// The seconds over which the pace is measured: longer than an origin may be silent before it counts as gone.
    static let period: Int64 = 60

    private var since: Int64
    private var heldThen: Int64
    /// When the held bytes last grew.
    private var grew: Int64
    /// Whether it was too slow in the last period.
    private(set) var isSlow = false

    /// - Parameters:
    ///   - held: the bytes held.
    ///   - time: now, in seconds since 1970.
    init(held: Int64, at time: Int64) { (since, heldThen, grew) = (time, held, time) }

    /// Measures the pace, if a period is over.
    ///
    /// An origin without ranges first sends the held bytes again: for as long as that may take at the least rate, a
    /// lack of new bytes does not count as a standstill.
    ///
    /// A period that was not measured in time, for example because clocks were set, is discarded, as is one in which
    /// held bytes were dropped.
    ///
    /// - Parameter leastRate: the bytes per second below which the download is slow.
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
    /// The bytes per second that each download must get: at most half of its share of a limit.
    var leastRateOfEach: Int64 {
        bytesPerSecond.map { min(leastRate, $0 / Int64(2 * parallel)) } ?? leastRate
    }
}
