import VaultModel

/// Reads media through a window, so that small reads near each other are one, and limits how much is read.
///
/// Where the limit is reached, the media seem to end, so those who read them need no other check.
final class MediaWindow {
    private let media: MediaBytes
    private var start: Int64 = 0
    private var held: [UInt8] = []
    private var reads = MediaWindow.maxReads
    private var room = MediaWindow.maxBytes

    /// The number of bytes that a small read reads ahead.
    static let width = 16 << 10
    /// The maximum number of reads: one for each chapter's name, and some for tables.
    static let maxReads = 2048
    /// The maximum number of bytes read: enough for a tag with pictures, or for each chapter's name.
    static let maxBytes = 24 << 20

    init(_ media: MediaBytes) { self.media = media }

    /// The media as seen through the window.
    var bytes: MediaBytes { MediaBytes(length: media.length) { try self.read($0, $1) } }

    private func read(_ position: Int64, _ count: Int) throws -> [UInt8] {
        guard position >= 0, position < media.length, count > 0 else { return [] }
        let count = Int(min(Int64(count), media.length - position))
        if position >= start, position - start <= Int64(held.count - count) {
            let offset = Int(position - start)
            return Array(held[offset..<offset + count])
        }
        guard reads > 0, count <= room else { return [] }
        reads -= 1
        let wide = Int(min(Int64(min(max(count, Self.width), room)), media.length - position))
        let found = try read(position, count, orAtMost: wide)
        room -= found.count
        if found.count <= Self.width { (start, held) = (position, found) }
        return found.count > count ? Array(found.prefix(count)) : found
    }

    /// Reads ahead if the bytes ahead are held, too.
    private func read(_ position: Int64, _ count: Int, orAtMost wide: Int) throws -> [UInt8] {
        guard wide > count else { return try media.read(position, count) }
        do {
            return try media.read(position, wide)
        } catch let error as VaultError where error.code == .notHeld {
            return try media.read(position, count)
        }
    }
}
