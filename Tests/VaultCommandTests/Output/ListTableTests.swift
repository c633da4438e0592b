import Foundation
import MediaVault
import Testing
import VaultService

@testable import VaultCommand

@Suite("The table of titles")
struct ListTableTests {
    /// A title as the service reports it.
    static func title(
        id: String = "aaaaaaaa", name: String? = nil, url: String = "http://a.example/film.mp4", size: Int64? = 10,
        bytes: Int64 = 10, added: String = "2026-11-23T22:00:00Z", accessed: String = "2026-11-23T22:00:00Z",
        class: String = "download", expires: String? = nil, isManifest: Bool = false
    ) throws -> ListedDocument {
        let name = name.map { "\"\($0)\"" } ?? "null"
        let record =
            #"{"bytes":\#(bytes),"complete":true,"duration":5400000,"fetched":"2026-11-23T22:00:00Z","kind":"hls","missing":[],"otherAudio":[],"otherSubtitles":[],"renditions":[],"#
            + #""resources":4,"selection":{"audio":"default","subtitles":"none","video":"best"},"size":\#(bytes)}"#
        let text =
            #"{"accessed":"\#(accessed)","duration":\#(isManifest ? "5400000" : "null"),"added":"\#(added)","bytes":\#(bytes),"class":"\#(`class`)","contentID":null,"cover":null,"#
            + #""etag":null,"expires":\#(expires.map { "\"\($0)\"" } ?? "null"),"generation":1,"held":[[0,\#(bytes)]],"id":"\#(id)","mode":null,"name":\#(name),"#
            + #""collection":null,"collectionName":null,"fallbackName":null,"tags":null,"#
            + #""part":false,"partBytes":null,"subtitles":[],"size":\#(size.map(String.init) ?? "null"),"#
            + #""title":\#(isManifest ? record : "null"),"#
            + #""type":"video/mp4","url":"\#(url)"}"#
        return ListedDocument(try JSONDecoder().decode(ResourceSummary.self, from: Data(text.utf8)))
    }

    private static let now: Int64 = 1_795_471_200 + 7200

    @Test(
        "Each column has its own text",
        arguments: [
            (.id, "aaaaaaaa"), (.held, "50 %"), (.size, "20 B"), (.bytes, "10 B"), (.age, "2h"), (.played, "1h"),
            (.type, "video/mp4"), (.duration, "?"), (.class, "download"), (.name, "http://a.example/%C3%BC%07.mp4"),
            (.url, "http://a.example/%C3%BC%07.mp4"),
        ] as [(ListColumn, String)])
    func columns(column: ListColumn, text: String) throws {
        let title = try Self.title(
            url: "http://a.example/%C3%BC%07.mp4", size: 20, accessed: "2026-11-23T23:00:00Z")
        #expect(column.text(title, now: Self.now) == text)
    }

    @Test("Names cannot control the terminal, nor turn its direction")
    func printable() throws {
        let title = try Self.title(name: #"one\u001b[2J\ntwo\u202Egpj.exe"#)
        #expect(ListColumn.name.text(title, now: 0) == "one?[2J?two?gpj.exe")
    }

    @Test("On a narrow terminal the usual table leaves columns out rather than break its lines")
    func narrow() {
        let row = ["aaaaaaaa", "100 %", "67.0 kB", "10m", "a long name of a film"].map { ListCell($0) }
        for width in [24, 32, 40, 60] {
            let text = ListTable(columns: ListColumn.usual, terminalWidth: width).text([row])
            #expect(text.split(separator: "\n").allSatisfy { ListCell(String($0)).width <= width }, "\(width)")
            #expect(text.hasPrefix("ID") && text.contains("a long name"), "\(width)")
        }
        #expect(ListTable(columns: ListColumn.usual, terminalWidth: 40).text([row]).contains("100 %"))
    }

    @Test("Columns are aligned by what is seen, and cut on a terminal alone")
    func alignment() {
        let rows = [["aaaaaaaa", "5 %", "日本"], ["bbbbbbbb", "100 %", "a long name of a film"]]
            .map { $0.map { ListCell($0) } }
        let columns: [ListColumn] = [.id, .held, .name]
        #expect(
            ListTable(columns: columns, terminalWidth: nil).text(rows)
                == "ID         HELD  NAME\naaaaaaaa    5 %  日本\nbbbbbbbb  100 %  a long name of a film\n")
        let cut = ListTable(columns: columns, terminalWidth: 30).text(rows)
        #expect(cut.split(separator: "\n").last == "bbbbbbbb  100 %  a long name …")
        #expect(cut.split(separator: "\n").allSatisfy { ListCell(String($0)).width <= 30 })
        let first = ListTable(columns: [.name, .id], terminalWidth: nil).text(rows.map { [$0[2], $0[0]] })
        #expect(first.split(separator: "\n")[1] == "日本                   aaaaaaaa")
        #expect(ListTable(columns: columns, terminalWidth: nil).text([]).isEmpty)
    }

    @Test("A URL at the end of a line is whole, so that it can be copied; elsewhere it is cut")
    func wholeURL() {
        let url = "http://a.example/" + String(repeating: "x", count: 60)
        let last = ListTable(columns: [.id, .url], terminalWidth: 40).text([["aaaaaaaa", url].map { ListCell($0) }])
        #expect(last.contains("aaaaaaaa  \(url)\n"))
        let first = ListTable(columns: [.url, .id], terminalWidth: 40).text([[url, "aaaaaaaa"].map { ListCell($0) }])
        #expect(!first.contains(url) && first.contains("…  aaaaaaaa\n"))
    }

    @Test(
        "A text is cut between characters, with a mark",
        arguments: [
            ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 5, "日本…"), ("日本語", 4, "日…"), ("e\u{301}ab", 2, "e\u{301}…"),
        ])
    func cutting(text: String, most: Int, cut: String) {
        #expect(ListCell(text).cut(to: most).text == cut)
    }

    @Test(
        "Titles come in the order that was asked for, those with the same value by name",
        arguments: [
            (.name, "Folge 2, Folge 10, öl, Zebra"), (.size, "Zebra, öl, Folge 10, Folge 2"),
            (.held, "Folge 10, Zebra, Folge 2, öl"), (.added, "öl, Folge 2, Folge 10, Zebra"),
            (.played, "Folge 10, Folge 2, öl, Zebra"),
        ] as [(ListOrder, String)])
    func orders(order: ListOrder, names: String) throws {
        let titles = [
            try Self.title(name: "Zebra", size: 900, bytes: 300, accessed: "2026-11-01T00:00:00Z"),
            try Self.title(name: "öl", size: 20, bytes: 1, added: "2026-11-24T00:00:00Z"),
            try Self.title(name: "Folge 10", size: 10, bytes: 900, accessed: "2026-11-24T00:00:00Z"),
            try Self.title(name: "Folge 2", size: nil),
        ]
        let sorted = titles.sorted { order.place(of: $0) < order.place(of: $1) }
        #expect(sorted.compactMap(\.name).joined(separator: ", ") == names)
    }

    @Test("The filters admit what their names say")
    func filters() throws {
        let (whole, partial) = (try Self.title(), try Self.title(size: 20, class: "pinned"))
        let old = try Self.title(class: "cache", expires: "2026-11-23T22:00:00Z")
        let end = try #require(old.expires)
        let admits = { (filter: ListFilter, title: ListedDocument) in filter.admits(title, at: end) }
        #expect(admits(.held, whole) && !admits(.held, partial))
        #expect(admits(.partial, partial) && !admits(.partial, whole))
        #expect(admits(.pinned, partial) && !admits(.pinned, whole))
        #expect(admits(.expired, old) && !admits(.expired, whole))
        #expect(!ListFilter.expired.admits(old, at: Timestamp(seconds: end.seconds - 1)))
    }

    @Test(
        "Ages have one unit",
        arguments: [
            (-5, "0m"), (59, "0m"), (60, "1m"), (3599, "59m"), (86_399, "23h"), (31_535_999, "364d"),
            (31_536_000, "1y"),
        ])
    func ages(seconds: Int64, text: String) {
        #expect(AgeText.text(seconds: seconds) == text)
    }
}

@Suite("Names of exported files")
struct ExportNamesTests {
    @Test(
        "A file is named by its title, else by its URL, and keeps the extension of the URL",
        arguments: [
            (nil, "http://a.example/dir/film%201.mp4?x=y.z", "film 1.mp4"),
            ("Film: 1/2", "http://a.example/f.webm", "Film- 1-2.webm"),
            ("song.mp3", "http://a.example/song.MP3", "song.MP3"), (nil, "http://a.example/", "title"),
            ("../../etc", "http://a.example/x", "-..-etc"), (nil, "http://a.example/..%2F..%2Fetc", "-..-etc"),
            (nil, "http://a.example/.hidden", "hidden"), ("...", "http://a.example/a.mp4", "title.mp4"),
            (nil, "http://a.example/a.verylongending", "a.verylongending"),
        ] as [(String?, String, String)])
    func names(name: String?, url: String, file: String) throws {
        var names = ExportNames()
        #expect(names.name(of: try ListTableTests.title(name: name, url: url)) == file)
    }

    @Test("A name is used once, whatever its capitals, and never too long; an HLS title is a folder without extension")
    func several() throws {
        var names = ExportNames()
        #expect(names.name(of: try ListTableTests.title(name: "Film")) == "Film.mp4")
        #expect(names.name(of: try ListTableTests.title(id: "bbbbbbbb", name: "FILM")) == "FILM bbbbbbbb.mp4")
        let long = names.name(of: try ListTableTests.title(name: String(repeating: "ü", count: 200)))
        #expect(long.utf8.count == 184 && long.hasSuffix("ü.mp4"))
        let folder = try ListTableTests.title(url: "http://a.example/show/master.m3u8", isManifest: true)
        #expect(names.name(of: folder) == "master")
    }

    @Test("Names that are the same with their ids, too, are numbered")
    func clash() throws {
        var names = ExportNames()
        #expect(names.name(of: try ListTableTests.title(name: "Film aaaaaaaa")) == "Film aaaaaaaa.mp4")
        let films = try (1...3).map { _ in names.name(of: try ListTableTests.title(id: "aaaaaaaa", name: "Film")) }
        #expect(films == ["Film.mp4", "Film aaaaaaaa 2.mp4", "Film aaaaaaaa 3.mp4"])
    }
}
