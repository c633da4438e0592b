import Foundation
import Testing

@testable import MediaVault

/// Compares what is read from real media with what `ffprobe` reads from them. Without ffmpeg, there are none.
@Suite("What real media state about themselves", .enabled(if: FFmpeg.exists), .timeLimit(.minutes(5)))
struct ProbedTagsTests {
    /// Options of the encoder for each file.
    private static let files: [(name: String, options: String)] = [
        ("book.m4b", "-c:a aac"), ("listed.m4a", "-c:a aac -movflags disable_chpl"), ("quick.mov", "-c:a aac"),
        ("film.mkv", "-c:a aac"), ("film.webm", "-c:a libopus"), ("tone.flac", "-c:a flac"),
        ("tone.oga", "-c:a flac"), ("tone.ogg", "-c:a libvorbis"), ("tone.opus", "-c:a libopus"),
        ("constant.mp3", "-c:a libmp3lame -b:a 128k -id3v2_version 3"),
        ("variable.mp3", "-c:a libmp3lame -q:a 4 -id3v2_version 4"),
        ("bare.mp3", "-c:a libmp3lame -b:a 64k -ar 22050 -ac 1 -write_xing 0"),
        ("tone.wav", "-c:a pcm_s16le"), ("long.wav", "-c:a pcm_s16le -rf64 always"),
        ("tone.aiff", "-c:a pcm_s16be -write_id3v2 1"),
    ]

    @Test("Names, numbers, language, length and chapters are those that ffprobe reads", arguments: files.map(\.name))
    func probed(name: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tags-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, facts) = (folder.appending(path: name), folder.appending(path: "facts"))
        try Data(Self.facts.utf8).write(to: facts)
        let options = try #require(Self.files.first { $0.name == name }).options
        let input = "-v error -nostdin -f lavfi -i sine=f=440:r=44100:d=9 -i"
        let output = "-map 0:a -map_metadata 1 -map_chapters 1 -metadata:s:a:0 language=deu"
        _ = try FFmpeg.run("ffmpeg", "\(input) \(facts.path) \(output) \(options) \(file.path)")
        let probed = try JSONDecoder().decode(
            Probed.self,
            from: FFmpeg.run("ffprobe", "-v error -of json -show_format -show_streams -show_chapters \(file.path)"))

        let tags = try MediaTags(of: StatingMedia.media([UInt8](Data(contentsOf: file))))
        let texts = probed.texts
        #expect(tags.name == texts["title"] && tags.artist == texts["artist"] && tags.album == texts["album"])
        #expect(tags.series == texts["show"] && tags.language == texts["language"])
        #expect(tags.track == texts["track"].flatMap(MediaTags.number))
        #expect(tags.disc == texts["disc"].flatMap(MediaTags.number))
        #expect(tags.season == texts["season_number"].flatMap(MediaTags.number))
        #expect(tags.episode == texts["episode_sort"].flatMap(MediaTags.number))
        // ffprobe adds what an encoder puts before the sound.
        #expect(abs(Double(tags.duration ?? 0) / 1000 - (Double(probed.format.duration) ?? -1)) < 0.1)
        #expect(tags.chapters.map(\.name) == probed.chapters.map { $0.tags?["title"] })
        for (chapter, other) in zip(tags.chapters, probed.chapters) {
            #expect(abs(Double(chapter.start) / 1000 - (Double(other.start) ?? -1)) <= 0.001)
        }
    }

    private static let facts = """
        ;FFMETADATA1
        title=Aurora – Folge 3 <b>
        artist=Ada Ähnlich
        album=Lights
        track=3/12
        disc=2
        show=Nights
        season_number=4
        episode_sort=7
        [CHAPTER]
        TIMEBASE=1/1000
        START=0
        END=2500
        title=Opening
        [CHAPTER]
        TIMEBASE=1/1000
        START=2500
        END=5750
        title=Zweites Kapitel
        [CHAPTER]
        TIMEBASE=1/1000
        START=5750
        END=9000
        title=日本

        """
}

/// What `ffprobe` writes.
private struct Probed: Decodable {
    struct Format: Decodable {
        let duration: String
        let tags: [String: String]?
    }

    struct Stream: Decodable {
        let codecType: String
        let tags: [String: String]?

        enum CodingKeys: String, CodingKey {
            case codecType = "codec_type"
            case tags
        }
    }

    struct Chapter: Decodable {
        let start: String
        let tags: [String: String]?

        enum CodingKeys: String, CodingKey {
            case start = "start_time"
            case tags
        }
    }

    let format: Format
    let streams: [Stream]
    let chapters: [Chapter]

    /// The tags of the file and of its sound, with names in small letters. Those of Ogg belong to the sound.
    var texts: [String: String] {
        let sound = streams.first { $0.codecType == "audio" }?.tags ?? [:]
        let all = (format.tags ?? [:]).merging(sound) { file, _ in file }
        return Dictionary(all.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
    }
}

private enum FFmpeg {
    static let exists = (try? run("ffprobe", "-version")) != nil

    /// Runs a program with arguments that have no blanks; returns what it writes.
    static func run(_ program: String, _ arguments: String) throws -> Data {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments.split(separator: " ").map(String.init)
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
        return data
    }
}
