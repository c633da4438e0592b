/// The times that a header box of MP4 states (`mvhd`, `mdhd`): units per second, and a duration in these units.
struct MP4Times {
    /// The units per second, at least 1.
    private let scale: Int64
    /// The duration in milliseconds; nil if it is not stated, for example because the media are still being written.
    private(set) var duration: Int64?
    /// The bytes after the duration.
    let rest: ArraySlice<UInt8>

    /// Reads a header box; nil if it is too short, or has no scale.
    init?(_ box: MediaBytes.Box, in media: MediaBytes) throws {
        // The content has a version and flags, two times, the scale, and the duration. The times and the duration have
        // 64 bits in version 1, and 32 bits in version 0.
        let content = try media.content(of: box, upTo: 36)
        let isLong = content.first == 1
        let (units, end) = isLong ? (20, 32) : (12, 20)
        guard content.count >= end else { return nil }
        scale = MediaBytes.number(content[units..<units + 4])
        rest = content[end...]
        guard scale > 0 else { return nil }
        let count = MediaBytes.number(content[units + 4..<end])
        // All bits set means that the duration is unknown.
        let isKnown = isLong || count < Int64(UInt32.max)
        duration = isKnown ? milliseconds(count).flatMap(MediaTags.duration) : nil
    }

    /// Returns a time in milliseconds; nil if it is negative, or longer than a year.
    func milliseconds(_ units: Int64) -> Int64? {
        let (seconds, rest) = units.quotientAndRemainder(dividingBy: scale)
        guard units >= 0, seconds < MediaTags.maxDuration / 1000 else { return nil }
        return seconds * 1000 + rest * 1000 / scale
    }
}
