import VaultModel

/// The facts that a playlist states about itself.
struct HLSProperties: Sendable {
    /// Whether the playlist's first line has been seen.
    var hasBegun = false
    /// Whether tags of media playlists have been seen.
    var isMedia = false
    /// Whether the playlist states its end (`EXT-X-ENDLIST`).
    var isEnded = false
    /// Whether the playlist states that it never changes (`EXT-X-PLAYLIST-TYPE:VOD`).
    var isFixed = false
    /// Whether the duration of a segment has been seen (`EXTINF`).
    var hasLengths = false
    /// The total duration of the segments, in microseconds.
    private(set) var microseconds: Int64 = 0
    private(set) var title: String?

    /// The maximum length of a title, in characters.
    private static let maxTitle = 200

    /// Adds the duration of a segment. The sum is limited to about 292 000 years.
    mutating func add(microseconds more: Int64) {
        let (sum, overflows) = microseconds.addingReportingOverflow(more)
        microseconds = overflows ? .max : sum
    }

    /// Sets the title unless one has already been set.
    mutating func setTitle(_ text: String) {
        let text = text.trimmingBlanks().prefix(Self.maxTitle)
        if title == nil, !text.isEmpty { title = String(text) }
    }

    /// Returns the duration with which a text begins, in microseconds; 0 if it is negative, not a number, or at least
    /// 10⁹ seconds.
    static func microseconds(_ text: ArraySlice<UInt8>) -> Int64 {
        var value: Int64 = 0
        var scale: Int64?
        for byte in text.drop(while: { $0 == UInt8(ascii: " ") }) {
            switch byte {
            case 0x30...0x39:
                if let digit = scale {
                    value += digit * Int64(byte - 0x30)
                    scale = digit / 10
                } else {
                    value = value * 10 + Int64(byte - 0x30) * 1_000_000
                    guard value < 1_000_000_000_000_000 else { return 0 }
                }
            case UInt8(ascii: ".") where scale == nil: scale = 100_000
            default: return value
            }
        }
        return value
    }
}
