/// How far one title has come.
struct TransferProgress: Hashable, Sendable {
    var held: Int64
    /// The length of the whole, where the origin has said.
    var total: Int64?
    var bytesPerSecond: Int64 = 0

    /// Bytes a second; 0 while too little has come to tell.
    static func rate(of bytes: Int64, in time: Duration) -> Int64 {
        guard bytes > 0, time >= .milliseconds(200) else { return 0 }
        return Int64(Double(bytes) / (time / .seconds(1)))
    }

    /// Whole percent, and 100 only where nothing is missing.
    var percent: Int? {
        guard let total else { return nil }
        return held >= total ? 100 : min(99, Int(Double(max(held, 0)) / Double(total) * 100))
    }
}
