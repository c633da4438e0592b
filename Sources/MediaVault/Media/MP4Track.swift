/// A track of an MP4 movie, as far as its facts are of use: kind, language, chapters, and where its samples are.
struct MP4Track {
    /// One sample of a track.
    struct Sample {
        /// When it begins, in the track's units.
        let start: Int64
        /// Where its bytes begin in the file.
        let position: Int64
        let size: Int64
    }

    /// The track's number, by which others refer to it.
    let number: Int64
    /// The kind of media, such as `soun` or `text`.
    let kind: String
    /// The language in three letters (ISO 639-2); nil if it states none.
    let language: String?
    /// The numbers of the tracks with this track's chapters: their names, and perhaps their pictures.
    let chapterTracks: [Int64]
    let times: MP4Times?
    private let table: MediaBytes.Box?

    init(_ box: MediaBytes.Box, in media: MediaBytes) throws {
        let head = try media.box(["tkhd"], in: box).map { try media.content(of: $0, upTo: 24) } ?? []
        number = MediaBytes.number(head.dropFirst(head.first == 1 ? 20 : 12).prefix(4))
        let handler = try media.box(["mdia", "hdlr"], in: box).map { try media.content(of: $0, upTo: 12) } ?? []
        kind = String(decoding: handler.dropFirst(8), as: UTF8.self)
        times = try media.box(["mdia", "mdhd"], in: box).flatMap { try MP4Times($0, in: media) }
        language = times.flatMap { Self.language($0.rest) }
        let chapters = try media.box(["tref", "chap"], in: box).map { try media.content(of: $0, upTo: 32) } ?? []
        chapterTracks = stride(from: 0, to: chapters.count, by: 4).map {
            MediaBytes.number(chapters[$0...].prefix(4))
        }
        table = try media.box(["mdia", "minf", "stbl"], in: box)
    }

    /// Returns the language, three letters of five bits each; nil if it is undetermined.
    private static func language(_ bytes: ArraySlice<UInt8>) -> String? {
        guard bytes.count >= 2 else { return nil }
        let packed = MediaBytes.number(bytes.prefix(2))
        let letters = [10, 5, 0].map { UInt8(packed >> $0 & 31) + 0x60 }
        guard letters.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }) else { return nil }
        return MediaTags.language(String(decoding: letters, as: UTF8.self))
    }

    // MARK: Samples

    /// Returns the first samples of the track, in the order of time.
    func samples(upTo limit: Int, in media: MediaBytes) throws -> [Sample] {
        let boxes = try table.map { try media.boxes(in: $0) } ?? []
        /// Reads a table: a version, perhaps other numbers, a count, and rows of numbers.
        func rows(_ type: String, columns: Int, bytesBefore: Int = 4) throws -> [[Int64]] {
            guard let box = boxes.first(where: { $0.type == type }) else { return [] }
            let width = type == "co64" ? 8 : 4
            let content = try media.content(of: box, upTo: bytesBefore + 4 + limit * columns * width)
            let count = MediaBytes.number(content.dropFirst(bytesBefore).prefix(4))
            let numbers = content.dropFirst(bytesBefore + 4)
            return (0..<Int(min(count, Int64(numbers.count / (columns * width))))).map { row in
                (0..<columns).map { MediaBytes.number(numbers.dropFirst((row * columns + $0) * width).prefix(width)) }
            }
        }
        let sizes = try sizes(boxes, upTo: limit, in: media) { try rows("stsz", columns: 1, bytesBefore: 8) }
        let starts = Self.starts(try rows("stts", columns: 2), count: sizes.count)
        let runs = try rows("stsc", columns: 3)
        let chunks = try rows("co64", columns: 1) + rows("stco", columns: 1)

        var samples: [Sample] = []
        for (index, chunk) in chunks.enumerated() {
            guard let run = runs.last(where: { $0[0] <= Int64(index + 1) }) else { break }
            var position = chunk[0]
            for _ in 0..<min(run[1], Int64(limit)) {
                let next = samples.count
                guard next < starts.count, position >= 0, position < media.length else { break }
                samples.append(Sample(start: starts[next], position: position, size: sizes[next]))
                guard sizes[next] <= media.length - position else { break }
                position += sizes[next]
            }
        }
        return samples
    }

    /// Returns the sizes of the first samples, which have a common size or rows of their own.
    private func sizes(
        _ boxes: [MediaBytes.Box], upTo limit: Int, in media: MediaBytes, rows: () throws -> [[Int64]]
    ) throws -> [Int64] {
        guard let box = boxes.first(where: { $0.type == "stsz" }) else { return [] }
        let head = try media.content(of: box, upTo: 12)
        guard head.count == 12 else { return [] }
        let common = MediaBytes.number(head[4..<8])
        guard common > 0 else { return try rows().map { $0[0] } }
        return Array(repeating: common, count: Int(min(MediaBytes.number(head[8..<12]), Int64(limit))))
    }

    /// Returns when the first `count` samples begin. Each row is a number of samples, and how long each of them lasts.
    private static func starts(_ rows: [[Int64]], count: Int) -> [Int64] {
        var starts: [Int64] = []
        var time: Int64 = 0
        for row in rows {
            for _ in 0..<min(row[0], Int64(count - starts.count)) {
                starts.append(time)
                time += row[1]
            }
        }
        return starts
    }
}
