/// Comments such as `TITLE=A song`, as Ogg and FLAC files contain them (Vorbis I §5).
struct VorbisComments {
    /// The comments in file order, up to the first one that is cut short.
    let all: [ArraySlice<UInt8>]

    /// The maximum number of comments: each chapter has two or three.
    private static let maxCount = 4096
    /// The maximum length of a name that is looked at.
    private static let maxNameBytes = 32

    /// Parses the comments; nil if the bytes do not begin with the encoder's name and a count.
    init?(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        guard Self.takeText(&rest) != nil, let count = Self.takeNumber(&rest) else { return nil }
        var all: [ArraySlice<UInt8>] = []
        while all.count < min(count, Self.maxCount), let text = Self.takeText(&rest) { all.append(text) }
        self.all = all
    }

    /// Returns the values of all comments with a name. The name's case is ignored.
    func values(_ name: String) -> [ArraySlice<UInt8>] { all.filter { Self.name($0) == name }.map(Self.value) }

    /// Takes what the comments state.
    func read(into tags: inout MediaTags) {
        var texts: [String: String] = [:]
        for comment in all {
            guard let name = Self.name(comment), texts[name] == nil else { continue }
            texts[name] = MediaTags.text(Self.value(comment))
        }
        tags.take(texts)
        // `CHAPTER001=00:00:00.000` and `CHAPTER001NAME=Opening`.
        for name in texts.keys.sorted() where name.hasPrefix("CHAPTER") {
            guard let start = texts[name].flatMap(Self.milliseconds) else { continue }
            tags.add(MediaChapter(start: start, name: texts[name + "NAME"]))
        }
    }

    /// Parses a time such as `01:02:03.456`.
    private static func milliseconds(_ text: String) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let hours = Int64(parts[0]), let minutes = Int64(parts[1]),
            let seconds = Double(parts[2]), (0...9999).contains(hours), (0..<60).contains(minutes),
            (0..<60).contains(seconds)
        else { return nil }
        return (hours * 60 + minutes) * 60_000 + Int64((seconds * 1000).rounded())
    }

    /// Returns a comment's name in capitals; nil if it has none that is short.
    private static func name(_ comment: ArraySlice<UInt8>) -> String? {
        let name = comment.prefix(maxNameBytes + 1).prefix { $0 != UInt8(ascii: "=") }
        return name.count <= maxNameBytes ? String(decoding: name.map(\.asciiUppercased), as: UTF8.self) : nil
    }

    private static func value(_ comment: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        comment.drop { $0 != UInt8(ascii: "=") }.dropFirst()
    }

    /// Reads a number of four bytes, and removes it from `rest`.
    private static func takeNumber(_ rest: inout ArraySlice<UInt8>) -> Int? {
        guard rest.count >= 4 else { return nil }
        defer { rest = rest.dropFirst(4) }
        return Int(MediaBytes.littleEndian(rest.prefix(4)))
    }

    private static func takeText(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let count = takeNumber(&rest), count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}

extension UInt8 {
    fileprivate var asciiUppercased: UInt8 { (0x61...0x7A).contains(self) ? self - 0x20 : self }
}
