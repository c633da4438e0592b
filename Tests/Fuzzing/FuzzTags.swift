import VaultModel

/// What libFuzzer calls with each input: reads it as media, and stops the program if what these state is implausible, or
/// if more is read than may be.
///
/// The last byte chooses how long the media claim to be, and how much of them is held.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    FuzzedMedia.check(Array(input.dropLast()), last: input.last ?? 0)
    return 0
}

enum FuzzedMedia {
    static func check(_ bytes: [UInt8], last: UInt8) {
        let length = last & 3 == 1 ? Int64.max : last & 3 == 2 ? 1 << 40 : Int64(bytes.count)
        let end = last & 4 == 0 ? Int64.max : Int64(bytes.count) * Int64(last >> 3) / 32
        var (reads, room) = (0, 0)
        let media = MediaBytes(length: length) { position, count in
            precondition(position >= 0 && count >= 0)
            reads += 1
            guard Int64(count) <= end - position else { throw VaultError(.notHeld, "not held") }
            guard position < bytes.count else { return [] }
            let found = Array(bytes[Int(position)...].prefix(count))
            room += found.count
            return found
        }
        guard let tags = try? MediaTags(of: media) else { preconditionFailure("what is found is not lost") }
        precondition(reads <= 2 * MediaWindow.maxReads && room <= MediaWindow.maxBytes)
        check(tags)
        _ = try? MediaPicture(media).find()
    }

    private static func check(_ tags: MediaTags) {
        for text in [tags.name, tags.artist, tags.album, tags.series] + tags.chapters.map(\.name) {
            precondition(text.map { MediaName.cleaned($0) == $0 } ?? true, "a text is not clean")
        }
        precondition(tags.language.map { MediaTags.language($0) == $0 } ?? true)
        for number in [tags.track, tags.disc, tags.season, tags.episode] {
            precondition(number.map { (0...99_999_999).contains($0) } ?? true)
        }
        precondition(tags.duration.map { (1...MediaTags.maxDuration).contains($0) } ?? true)
        precondition(tags.chapters.count <= MediaTags.maxChapters)
        for (one, next) in zip(tags.chapters, tags.chapters.dropFirst()) { precondition(one.start <= next.start) }
    }
}
