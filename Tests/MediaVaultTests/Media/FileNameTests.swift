import SeededRandom
import Testing
import VaultModel

@testable import MediaVault

@Suite("Names that files have")
struct FileNameTests {
    private static func read(_ path: String, isManifest: Bool = false) -> FileName {
        FileName(ofURL: "https://media.example/" + path, isManifest: isManifest)
    }

    @Test(
        "The name of a file is made readable",
        arguments: [
            ("music/01%20-%20Aurora.flac", "Aurora"), ("a/The_Lost_Harbour.mp4", "The Lost Harbour"),
            ("a/big.buck.bunny.2008.1080p.x264.mkv", "big buck bunny 2008"),
            ("a/my-summer-film.webm", "my summer film"),
            ("a/Spider-Man.mp4", "Spider-Man"), ("12%20Monkeys.mkv", "12 Monkeys"),
            ("2001%20A%20Space%20Odyssey.mkv", "2001 A Space Odyssey"),
            ("Stra%C3%9Fe%20am%20Meer.m4a", "Straße am Meer"),
            ("3.%20The%20Sea.mp3", "The Sea"), ("1-02%20Tide.mp3", "Tide"), ("007_Goldfinger.mp4", "Goldfinger"),
            ("film.mp4", "film"), ("video/", "video"), ("MyBigSummerHolidayFilm.mp4", "MyBigSummerHolidayFilm"),
            ("Die%20%C3%84rzte.mp3?token=secret", "Die Ärzte"), ("a+b+c.mp4", "a b c"), ("v1.2.mp4", "v1 2"),
        ])
    func readable(path: String, name: String) {
        #expect(Self.read(path).name == name)
    }

    @Test(
        "A token says nothing to people",
        arguments: [
            "8f3a9c1d2e4b5a6f.mp4", "dQw4w9WgXcQ.mp4", "550e8400-e29b-41d4-a716-446655440000.mp4", "9781234567897.mp3",
            "a1b2c3d4e5f6.webm", "xkcdrtfmwqbzplhj.mp4", "_-_.mp4", "...", "",
        ])
    func tokens(path: String) {
        #expect(Self.read(path).name == nil)
    }

    @Test(
        "An address, a query or a user within the last part of a path is not shown",
        arguments: [
            "play/https%3A%2F%2Fcdn.example%2Fprivate%2Ff.mp4%3Ftoken%3Dx", "film.mp4%3Ftoken%3Dabc",
            "alice%40corp.mp4",
            "a%26b.mp4", "hdntl=exp=1~hmac=ab.mp4", "cdn.example%5Cprivate%5Cfilm.mp4", "%252F.mp4",
        ])
    func addresses(path: String) {
        let found = Self.read(path)
        #expect(found.name == nil && found.tags.isEmpty)
        #expect(FileName(ofURL: "https://media.example/\(path)/master.m3u8", isManifest: true).name == nil)
    }

    @Test("Marks that names have are kept, and parameters of a path are not")
    func marks() {
        #expect(Self.read("Alien%3A%20Covenant.mkv").name == "Alien: Covenant")
        #expect(Self.read("What%20is%20love%3F.mp4").name == "What is love?")
        #expect(Self.read("Tom%20%26%20Jerry.mp4").name == "Tom & Jerry")
        #expect(Self.read("film.mp4;jsessionid=ABC").name == "film")
    }

    @Test("Numbers of tracks and episodes are read, and the series before them")
    func numbers() {
        let track = Self.read("a/01%20-%20Aurora.flac").tags
        #expect((track.track, track.disc, track.season) == (1, nil, nil))
        let disc = Self.read("a/2-07%20Tide.flac").tags
        #expect(disc.disc == 2 && disc.track == 7)
        for text in ["The.Harbour.S02E11.Fog.1080p.mkv", "The%20Harbour%202x11%20Fog.mkv", "The_Harbour_s02e11.mkv"] {
            let tags = Self.read(text).tags
            #expect(tags.series == "The Harbour" && tags.season == 2 && tags.episode == 11, "\(text)")
        }
        for text in ["1920x1080.mp4", "12%20Monkeys.mkv", "Class%20of%201999.mkv", "sea.mp4"] {
            #expect(Self.read(text).tags.isEmpty, "\(text)")
        }
    }

    @Test("A number alone, or after a word for a part, is that of the track")
    func onlyNumbers() {
        for (path, track) in [
            ("01.mp3", 1), ("2.mp4", 2), ("Track%2010.mp3", 10), ("kapitel_3.m4a", 3), ("E07.mkv", 7),
        ] {
            #expect(Self.read("a/" + path).tags.track == track, "\(path)")
            #expect(Self.read("a/" + path).name != nil, "\(path)")
        }
        for path in ["2001.mkv", "Apollo%2013.mp4", "Track.mp3", "film1.mp4"] {
            #expect(Self.read("a/" + path).tags.track == nil, "\(path)")
        }
        let both = Self.read("The.Quay.S01E01E02.mkv").tags
        #expect(both.series == "The Quay" && both.season == 1 && both.episode == 1)
    }

    @Test(
        "A playlist whose folder says how its streams are stored has the name of the folder around it",
        arguments: [
            ("Aurora/hls/index.m3u8", "Aurora"), ("Sea/1080p/index.m3u8", "Sea"), ("mp4:Sea.mp4/playlist.m3u8", "Sea"),
            ("8f3a9c1d2e4b5a6f/master.m3u8", nil), ("hls/master.m3u8", nil),
            ("proxy/cdn.example.net/hls/master.m3u8", nil), ("Aurora/a/hls/hls/hls/hls/master.m3u8", nil),
            ("key:secret/master.m3u8", nil),
            ("a/Harbour/Harbour.mpd", "Harbour"),
        ])
    func streams(path: String, name: String?) {
        #expect(Self.read(path, isManifest: true).name == name)
    }

    @Test("The file of a program that answers is no name")
    func programs() {
        #expect(Self.read("get.php?id=77").name == nil && Self.read("a/watch.aspx").name == nil)
    }

    @Test("A playlist has the name of its folder, and nothing has that of its host")
    func folders() {
        #expect(Self.read("films/Aurora/master.m3u8", isManifest: true).name == "Aurora")
        #expect(Self.read("films/Aurora/part.mp4").name == "part")
        #expect(Self.read("films/8f3a9c1d2e4b5a6f/master.m3u8", isManifest: true).name == nil)
        #expect(Self.read("master.m3u8", isManifest: true).name == nil)
        #expect(FileName(ofURL: "https://media.example", isManifest: true).name == nil)
        #expect(FileName(ofURL: "https://media.example/?film", isManifest: false).name == nil)
    }

    private static let breaks: Set<Unicode.GeneralCategory> = [.control, .lineSeparator, .paragraphSeparator]

    @Test("Any path is read, and its name is one line without marks that turn the text")
    func fuzz() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        let parts = [
            "%0A", "%00", "%E2%80%AE", "%", "/", ".", "-", "_", " ", "01", "s1e2", "a", "\u{202E}", "x", "%C3", "🎬",
        ]
        for _ in 0..<2000 {
            let path = (0..<Int.random(in: 0...12, using: &random)).map { _ in parts.randomElement(using: &random) ?? ""
            }
            let found = Self.read(path.joined(), isManifest: Bool.random(using: &random))
            let scalars = Array((found.name ?? "").unicodeScalars)
            #expect(!scalars.contains { Self.breaks.contains($0.properties.generalCategory) }, "seed \(seed), \(path)")
            #expect(!scalars.contains("\u{202E}"), "seed \(seed), \(path)")
        }
    }
}
