import VaultModel

/// How fast a running download gets on, period by period: a value.
struct DownloadPace: Hashable, Sendable {
    /// The seconds over which it is measured: longer than an origin is silent before it counts as gone.
    static let period: Int64 = 60

    private var since: Int64
    private var heldThen: Int64
    /// When it last had more than before.
    private var grew: Int64
    /// Whether it was too slow in the last period.
    private(set) var isSlow = false

    /// - Parameters:
    ///   - held: the bytes that it has.
    ///   - time: now, in seconds since 1970.
    init(held: Int64, at time: Int64) { (since, heldThen, grew) = (time, held, time) }

    /// Measures it, if a period is over.
    ///
    /// An origin without ranges first sends again what is held: while that may take so long, no new byte is no standstill.
    ///
    /// A period that was not looked at in time says nothing, for example because clocks were set; nor does one in which
    /// bytes were given up.
    ///
    /// - Parameter leastRate: the bytes per second that it must have got.
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
    /// The bytes per second that each download must get: no more than half of what a limit leaves to it.
    var leastRateOfEach: Int64 {
        bytesPerSecond.map { min(leastRate, $0 / Int64(2 * parallel)) } ?? leastRate
    }
}
