import MediaVault
import SeededRandom
import Testing

@testable import VaultCommand

@Suite("A list of titles")
struct TitleListTests {
    /// What a list states, line by line: the URL or id of each title, or the message of its failure.
    private static func read(_ bytes: [UInt8], pieces: Int = .max) throws -> [String] {
        var list = TitleList("list.txt")
        var rest = bytes[...]
        while !rest.isEmpty {
            try list.take(rest.prefix(pieces))
            rest = rest.dropFirst(pieces)
        }
        return try list.finish().map { order in
            switch order.content {
            case .success(let content):
                switch content.name {
                case .url(let url): url.absoluteString
                case .id(let id): "\(id)"
                }
            case .failure(let error): "\(order.place.map { "\($0)" } ?? "?"): \(error.message)"
            }
        }
    }

    private static func read(_ text: String) throws -> [String] { try read(Array(text.utf8)) }

    @Test(
        "Lines end with LF or CR LF; a byte order mark, blanks, empty lines and comments are skipped",
        arguments: [
            ("", []), ("\n\n", []), ("# films", []), ("\u{FEFF}", []),
            ("https://a.example/1", ["https://a.example/1"]),
            ("\u{FEFF}https://a.example/1\r\n", ["https://a.example/1"]),
            ("\u{FEFF}# films\r\n\r\nhttps://a.example/1\r\n", ["https://a.example/1"]),
            ("  https://a.example/1\t\n\u{A0}k3v7q2ma\u{A0}", ["https://a.example/1", "k3v7q2ma"]),
            (
                "https://a.example/1  # the first\nhttps://a.example/2\t#second",
                ["https://a.example/1", "https://a.example/2"]
            ),
            ("https://a.example/1#part # 1", ["https://a.example/1"]),
            ("https://a.example/1?q=#part", ["https://a.example/1?q="]),
            ("#EXTM3U\n#EXTINF:10,Film\nhttps://a.example/1", ["https://a.example/1"]),
        ] as [(String, [String])])
    func lines(_ text: String, _ titles: [String]) throws {
        #expect(try Self.read(text) == titles)
    }

    @Test("A title remembers its line, and a fragment is no part of its name")
    func places() throws {
        var list = TitleList("standard input")
        try list.take(Array("# one\n\nhttps://a.example/1#x\n".utf8))
        let orders = try list.finish()
        #expect(orders.map(\.place) == [LinePlace(source: "standard input", line: 3)])
        #expect(orders.first?.text == "https://a.example/1#x")
    }

    @Test(
        "A line that is no title is named with its number, without what may be secret in it",
        arguments: [
            ("ftp://a.example/x", "ftp://a.example/x", scheme), ("films", "films", "nor the id of a title"),
            ("https://a.example/a b", "https://a.example/a…", blank),
            ("htp://user:secret@a.example/x?token=secret", "htp://…a.example/x…", scheme),
            ("htp://user:se?cret@a.example/x", "htp://…", scheme),
            ("user:secret@a.example/x", "…a.example/x", scheme),
            ("Authorization: Basic secret", "Authorization:…", blank), ("Cookie:a=secret", "Cookie:…", scheme),
            ("token secret https://a.example/x", "token…", blank),
            ("http://a\u{1B}[31m.example", "http://a?[31m.example", blank),
        ])
    func faults(_ line: String, _ shown: String, _ why: String) throws {
        let message = "list.txt:2: not a URL: \"\(shown)\" (\(why))"
        #expect(try Self.read("https://a.example/1\n\(line)\n") == ["https://a.example/1", message])
    }

    private static let scheme = "its scheme is not http or https"
    private static let blank = "it contains a space, a control character or a backslash; percent-encode it"

    @Test("Of a long line that is no URL, sixty characters are shown")
    func shortened() throws {
        let message = try #require(try Self.read("x:" + String(repeating: "y", count: 9000)).first)
        #expect(message.hasPrefix("list.txt:1: not a URL: \"x:yyy"))
        #expect(message.contains("yyy…\""))
        #expect(message.count < 200)
    }

    @Test("A line that is not UTF-8 fails, and the others do not; a list in UTF-16 is refused")
    func encodings() throws {
        let latin = Array("https://a.example/1\nhttps://a.example/".utf8) + [0xE9, 0x0A] + Array("k3v7q2ma".utf8)
        #expect(
            try Self.read(latin) == [
                "https://a.example/1", "list.txt:2: the line is not UTF-8; save the list as UTF-8", "k3v7q2ma",
            ])
        let wide = try #require(throws: UsageError.self) { try Self.read([0xFF, 0xFE, 0x68, 0, 0x0A, 0]) }
        #expect(wide.message == "list.txt is UTF-16; save it as UTF-8")
    }

    @Test(
        "A line of at most 1 MiB is read, whatever ends it; a longer one fails, and the next is read",
        arguments: ["\n", "\r\n"])
    func longLines(_ end: String) throws {
        let url = "https://a.example/1"
        let longest = url + " #" + String(repeating: "x", count: TitleList.maxLineBytes - url.utf8.count - 2)
        #expect(longest.utf8.count == 1 << 20)
        #expect(try Self.read(longest + end + "k3v7q2ma") == [url, "k3v7q2ma"])
        let tooLong = "list.txt:1: the line is longer than 1 MiB; give one title on each line"
        #expect(try Self.read(longest + "x" + end + "k3v7q2ma") == [tooLong, "k3v7q2ma"])
        #expect(try Self.read(longest + longest + end + "k3v7q2ma") == [tooLong, "k3v7q2ma"])
        #expect(try Self.read(longest + "x") == [tooLong])
    }

    @Test("A list of a million lines is read; one more is refused")
    func manyLines() throws {
        let most = [UInt8](repeating: 0x0A, count: TitleList.maxLines - 1) + Array("k3v7q2ma\n".utf8)
        #expect(try Self.read(most) == ["k3v7q2ma"])
        let error = try #require(throws: UsageError.self) { try Self.read(most + Array("#".utf8)) }
        #expect(error.message == "list.txt has more than 1000000 lines; split it into several lists")
    }

    @Test("A list has at most so many bytes, also if all of them are skipped, and so many that are kept")
    func manyBytes() throws {
        var list = TitleList("list.txt", mostRead: 100)
        for _ in 0..<10 { try list.take(Array("#234567890".utf8)) }
        let long = try #require(throws: UsageError.self) { try list.take([0x23]) }
        #expect(long.message == "list.txt is longer than 100 B; split it into several lists")
        let fields = #""http_headers":{"Referer":"https://a.example/"}"#
        let line = #"{"url":"https://a.example/y","title":"A film",\#(fields)}"# + "\n"
        let kept = "https://a.example/yA filmRefererhttps://a.example/".utf8.count
        var full = TitleList("list.txt", mostKept: 2 * kept)
        try full.take(Array((line + line).utf8))
        let error = try #require(throws: UsageError.self) { try full.take(Array("k3v7q2ma\n".utf8)) }
        #expect(error.message.contains("of URLs, names and request fields"))
    }

    @Test("Any bytes are read the same in pieces of any size, never print a secret, and name each line at most once")
    func property() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("TitleListTests.property: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let parts: [[UInt8]] =
            [
                "https://", "a.example/x", "user:SECRET@", "?t=SECRET", "#", " #", "\n", "\r\n", "\r", " ", "\t", "{",
                "}",
                #"{"url":"https://a.example/y","http_headers":{"Cookie":"SECRET"}}"#, #""SECRET""#, "k3v7q2ma",
                "ftp://", "é",
                "\u{FEFF}", "\u{1B}",
            ].map { Array($0.utf8) } + [[0xFF], [0]]
        for _ in 0..<2000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0...12, using: &random) {
                bytes += parts[Int.random(in: 0..<parts.count, using: &random)]
            }
            let whole = Result { try Self.read(bytes) }
            let pieces = Int.random(in: 1...5, using: &random)
            guard case .success(let titles) = whole else {
                #expect(throws: UsageError.self, "seed \(seed)") { try Self.read(bytes, pieces: pieces) }
                continue
            }
            #expect(try Self.read(bytes, pieces: pieces) == titles, "seed \(seed): \(bytes)")
            #expect(titles.count <= bytes.count { $0 == 0x0A } + 1)
            let faults = titles.filter { $0.hasPrefix("list.txt:") }
            #expect(Set(faults.map { $0.prefix { $0 != " " } }).count == faults.count)
            for fault in faults {
                // A password without a user name, or text by itself, may be anything.
                let isNamed = !String(decoding: bytes, as: UTF8.self).contains("\"SECRET\"")
                #expect(!isNamed || !fault.contains("SECRET"), "seed \(seed): \(fault)")
                #expect(!fault.unicodeScalars.contains { $0.value < 0x20 }, "seed \(seed): \(fault)")
            }
        }
    }
}
