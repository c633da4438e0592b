import Foundation
import SeededRandom
import Testing
import VaultModel

@testable import VaultManifest

/// Feeds with one entry that has a file, and elements of the feed and of the entry.
private enum SampleFeed {
    /// Returns a feed of RSS with one item, whose own elements and those of whose channel are these.
    static func rss(channel: String = "", item: String = "") -> String {
        "<rss xmlns:itunes='i' xmlns:media='m'><channel>\(channel)<item>\(item)<enclosure url='1.mp3'/></item></channel></rss>"
    }

    /// The same in Atom.
    static func atom(feed: String = "", entry: String = "") -> String {
        "<feed xmlns:media='m'>\(feed)<entry>\(entry)<link rel='enclosure' href='1.mp3'/></entry></feed>"
    }

    /// The same in JSON Feed.
    static func json(feed: String = "", item: String = "") -> String {
        #"{"title": "a"\#(feed), "items": [{"attachments": [{"url": "1.mp3"}]\#(item)}]}"#
    }
}

@Suite("Feeds")
struct FeedTests {
    private static let base = "https://feeds.example/show/feed.xml?token=1"

    private static func feed(_ text: String) throws -> Feed {
        try Feed(Array(text.utf8), at: try MediaURL(base))
    }

    /// Returns entries as short texts: URL, name of the publisher, title, date.
    private static func texts(_ feed: Feed) -> [String] {
        feed.entries.map {
            [
                $0.url.absoluteString, $0.guid ?? "-", $0.title ?? "-", $0.date.map { "\($0)" } ?? "-",
            ].joined(separator: " ")
        }
    }

    private static let rss = """
        <?xml version="1.0" encoding="UTF-8"?>
        <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/" xmlns:itunes="http://www.itunes.com/dtds/p">
        <channel><title>A &amp; B</title><itunes:title>Other</itunes:title>
        <item><itunes:title>Not this</itunes:title><title><![CDATA[ One ]]></title><guid>g1</guid>
          <pubDate>Wed, 02 Oct 2002 13:00:00 GMT</pubDate>
          <enclosure url="cover.jpg" type="image/jpeg"/><enclosure url="one.mp3?a=1&amp;b=2" type="audio/mpeg"/></item>
        <item><title>A text</title><link>https://feeds.example/text</link></item>
        <item><guid>g2</guid><media:group><media:content url="small.mp4" medium="video"/>
          <media:content url="https://cdn.example/big.mp4" medium="video" isDefault="true"/></media:group></item>
        </channel></rss>
        """

    @Test("Of RSS, the enclosure or the media of each item is read, with title, guid and date")
    func rssItems() throws {
        let feed = try Self.feed(Self.rss)
        #expect(feed.title == "A & B" && feed.unusable == 0)
        #expect(
            Self.texts(feed) == [
                "https://feeds.example/show/one.mp3?a=1&b=2 g1 One 1033563600", "https://cdn.example/big.mp4 g2 - -",
            ])
    }

    @Test("Of Atom, the enclosure of each entry is read, relative to xml:base")
    func atomEntries() throws {
        let feed = try Self.feed(
            """
            <feed xmlns="http://www.w3.org/2005/Atom" xml:base="/media/"><title>Show</title>
            <entry><id>tag:1</id><title>One</title><updated>2002-10-02T13:00:00Z</updated>
              <link rel="alternate" href="page.html"/><link rel="enclosure" type="video/mp4" href="1.mp4"/></entry>
            <entry xml:base="https://cdn.example/"><id>tag:2</id><link rel="enclosure" href="2.mp4"/></entry>
            </feed>
            """)
        #expect(feed.title == "Show")
        #expect(
            Self.texts(feed) == [
                "https://feeds.example/media/1.mp4 tag:1 One 1033563600", "https://cdn.example/2.mp4 tag:2 - -",
            ])
    }

    @Test(
        "JSON Feed and lists in JSON are read",
        arguments: [
            (
                """
                {"version": "https://jsonfeed.org/version/1.1", "title": "Show", "items": [
                {"id": 7, "url": "https://a.example/page", "title": "One", "date_published": "2002-10-02T13:00:00Z",
                 "attachments": [{"url": "1.mp3", "mime_type": "audio/mpeg", "duration_in_seconds": 12.5}]},
                {"id": "x", "content_text": "a text"}]}
                """, ["https://feeds.example/show/1.mp3 7 One 1033563600"]
            ),
            (
                #"["https://a.example/1.mp4", {"url": "2.mp4", "title": "Two", "id": "b", "duration": 1.5}]"#,
                ["https://a.example/1.mp4 - - -", "https://feeds.example/show/2.mp4 b Two -"]
            ),
            (
                #"{"_type": "playlist", "entries": [{"url": "https://a.example/1.mp4", "id": "a"}]}"#,
                ["https://a.example/1.mp4 a - -"]
            ),
        ])
    func json(text: String, expected: [String]) throws { #expect(Self.texts(try Self.feed(text)) == expected) }

    @Test("An entry that names no URL to fetch is counted, and the others are read")
    func unusable() throws {
        let feed = try Self.feed(#"["ftp://a.example/1", 7, {"url": 3}, "https://a.example/2", {"title": "text"}]"#)
        #expect(feed.unusable == 4 && Self.texts(feed) == ["https://a.example/2 - - -"])
    }

    @Test(
        "A file without an address counts as unusable, so that nothing is removed for it; a text to read does not",
        arguments: [
            ("<rss><channel><item><enclosure url='' type='video/mp4'/></item></channel></rss>", 1),
            ("<rss><channel><item><enclosure type='video/mp4'/></item></channel></rss>", 1),
            ("<rss><channel><item><title>Text</title></item></channel></rss>", 0),
            ("<rss><channel><item><enclosure type='image/png'/></item></channel></rss>", 0),
            ("<feed><entry><link rel='enclosure' type='audio/mpeg'/></entry></feed>", 1),
            ("<feed><entry><link rel='alternate' href='page.html'/></entry></feed>", 0),
            (#"[{"url": null}]"#, 1), (#"[{"url": ""}]"#, 1), (#"[""]"#, 1), (#"[{"title": "a"}]"#, 1),
            (#"{"items": [{"id": 1, "attachments": [{"mime_type": "audio/mpeg"}]}]}"#, 1),
            (#"{"items": [{"id": 1, "url": "/page.html"}]}"#, 0),
        ])
    func withoutAddress(text: String, count: Int) throws {
        let feed = try Self.feed(text)
        #expect(feed.unusable == count && feed.entries.isEmpty && feed.passedOver.isEmpty)
    }

    @Test(
        "An entry whose only file is no media is passed over, and named with its guid",
        arguments: [
            "<rss><channel><item><guid>g</guid><enclosure url='/a' type='text/html'/></item></channel></rss>",
            "<rss><channel><item><guid>g</guid><media:content url='/a' medium='image'/></item></channel></rss>",
            "<feed><entry><id>g</id><link rel='enclosure' href='/a' type='image/png'/></entry></feed>",
            #"{"items": [{"id": "g", "attachments": [{"url": "/a", "mime_type": "text/html"}]}]}"#,
        ])
    func passedOver(text: String) throws {
        let feed = try Self.feed(text)
        #expect(feed.entries.isEmpty && feed.unusable == 0)
        #expect(feed.passedOver.map(\.url.path) == ["/a"] && feed.passedOver.map(\.guid) == ["g"])
    }

    @Test(
        "An entry has its own picture, else that of the feed",
        arguments: [
            (SampleFeed.rss(item: "<itunes:image href='a.jpg'/>"), "/show/a.jpg"),
            (
                SampleFeed.rss(channel: "<itunes:image href='/b.jpg'/>", item: "<itunes:image href='a.jpg'/>"),
                "/show/a.jpg"
            ),
            (SampleFeed.rss(channel: "<itunes:image href=' /b.jpg&#10;'/>"), "/b.jpg"),
            (SampleFeed.rss(channel: "<image><url>c.png</url><title>a</title></image>"), "/show/c.png"),
            (SampleFeed.rss(channel: "<image><url>c.png</url></image><itunes:image href='/b.jpg'/>"), "/b.jpg"),
            (SampleFeed.rss(channel: "<image><url><![CDATA[ c.png?a=1&b=2 ]]></url></image>"), "/show/c.png?a=1&b=2"),
            (SampleFeed.rss(item: "<media:thumbnail url='//feeds.example/d.jpg'/>"), "/d.jpg"),
            (SampleFeed.rss(item: "<media:group><media:thumbnail url='?d'/></media:group>"), "/show/feed.xml?d"),
            (
                SampleFeed.rss(item: "<media:content url='1.mp3'><media:thumbnail url='d.jpg'/></media:content>"),
                "/show/d.jpg"
            ),
            (SampleFeed.rss(item: "<media:thumbnail url='d.jpg'/><itunes:image href='a.jpg'/>"), "/show/a.jpg"),
            (SampleFeed.atom(feed: "<logo>e.png</logo><icon>f.ico</icon>"), "/show/e.png"),
            (SampleFeed.atom(feed: "<icon>f.png</icon>"), "/show/f.png"),
            (SampleFeed.atom(feed: "<logo>e.png</logo>", entry: "<media:thumbnail url='d.jpg'/>"), "/show/d.jpg"),
            (
                "<feed xml:base='/g/'><logo>e.png</logo><entry><link rel='enclosure' href='1'/></entry></feed>",
                "/g/e.png"
            ),
            (SampleFeed.json(feed: #", "icon": "h.png""#), "/show/h.png"),
            (SampleFeed.json(feed: #", "icon": "h.png""#, item: #", "image": "/i.png""#), "/i.png"),
        ])
    func pictures(text: String, path: String) throws {
        let feed = try Self.feed(text)
        #expect(feed.unusable == 0)
        #expect(feed.entries.map { $0.picture?.absoluteString } == ["https://feeds.example" + path])
    }

    @Test(
        "A picture that cannot be fetched is none, and the next one stands for it; the entry stays",
        arguments: [
            "javascript:alert(1)", "file:///etc/passwd", "data:image/png;base64,AAAA", "ftp://a.example/a.jpg",
            "http:a",
            "gopher://a.example/", "http://", "https://a.example:0/", "http://[::1", "a\\b", "a\u{7}b", "", "  ",
            String(repeating: "a", count: 9000),
        ])
    func hostilePictures(reference: String) throws {
        // XML has no bell, and JSON escapes it.
        let isText = !reference.unicodeScalars.contains { $0.value < 0x20 }
        let escaped = reference.replacing("\\", with: #"\\"#).replacing("\u{7}", with: #"\u0007"#)
        var texts = [
            SampleFeed.json(item: #", "image": "\#(escaped)""#), SampleFeed.json(feed: #", "icon": "\#(escaped)""#),
            SampleFeed.json(feed: #", "icon": 7"#, item: #", "image": {"a": [1]}"#),
        ]
        if isText {
            texts += [
                SampleFeed.rss(item: "<itunes:image href='\(reference)'/>"),
                SampleFeed.rss(channel: "<image><url>\(reference)</url></image>"),
                SampleFeed.atom(feed: "<logo>\(reference)</logo>", entry: "<media:thumbnail url='\(reference)'/>"),
            ]
        }
        for text in texts {
            let feed = try Self.feed(text)
            #expect(feed.entries.count == 1 && feed.unusable == 0)
            #expect(feed.entries.allSatisfy { $0.picture == nil }, "\(text.prefix(200))")
        }
        guard isText else { return }
        let item = "<itunes:image href='\(reference)'/><media:thumbnail url='d.jpg'/>"
        #expect(try Self.feed(SampleFeed.rss(item: item)).entries.first?.picture?.path == "/show/d.jpg")
        let feed = try Self.feed(
            SampleFeed.rss(channel: "<image><url>c.jpg</url></image>", item: "<itunes:image href='\(reference)'/>"))
        #expect(feed.entries.first?.picture?.path == "/show/c.jpg")
    }

    @Test("A feed without a base has pictures with absolute URLs alone, and no picture has a user name")
    func absolutePictures() throws {
        let text = #"{"items": [{"image": "%", "attachments": [{"url": "https://a.example/1.mp3"}]}]}"#
        for (picture, expected) in [
            ("/a.jpg", nil), ("https://user:secret@a.example/a.jpg", "https://a.example/a.jpg"),
        ] {
            let feed = try Feed(Array(text.replacing("%", with: picture).utf8), at: nil)
            #expect(feed.entries.map { $0.picture?.absoluteString } == [expected])
            #expect(feed.entries.first?.picture?.hasCredentials != true)
        }
    }

    @Test("The user name and password of an entry are dropped")
    func credentials() throws {
        let feed = try Self.feed(#"["https://user:secret@a.example/1"]"#)
        #expect(feed.entries.map(\.url.hasCredentials) == [false])
    }

    @Test(
        "What is no feed is refused, and a web page is told apart",
        arguments: [
            ("<!DOCTYPE html><html><body>Log in</body></html>", FeedError.webPage),
            ("<html><head></head><body/></html>", .webPage), ("<html><body><p>Log in<br></body>", .webPage),
            ("<MPD/>", .notAFeed), ("Please log in", .notAFeed), ("", .notAFeed), ("{\"a\": 1}", .notAFeed),
            ("{\"items\": 7}", .json(nil)), ("<rss/>", .notAFeed),
        ])
    func noFeeds(text: String, expected: FeedError) {
        #expect(throws: expected) { try Self.feed(text) }
    }

    @Test(
        "Malformed JSON is refused, with the place where that is known",
        arguments: [
            ("{\"items\": [\n 7,, 8]}", "line 2, column 4: its JSON is malformed"),
            ("[\n\"a\"", "line 2, column 4: its JSON is malformed"), ("{\"items\": 7}", "its JSON is malformed"),
        ])
    func malformedJSON(text: String, expected: String) {
        let error = #expect(throws: FeedError.self) { try Self.feed(text) }
        #expect(error?.description == expected)
    }

    @Test("A feed has at most a hundred thousand entries and 64 MiB, one in JSON 4 MiB")
    func bounds() throws {
        let list = { (count: Int) in "[" + (0..<count).map { "\"/\($0)\"" }.joined(separator: ",") + "]" }
        #expect(try Self.feed(list(Feed.maxEntries)).entries.count == Feed.maxEntries)
        #expect(throws: FeedError.tooManyEntries) { try Self.feed(list(Feed.maxEntries + 1)) }
        let blanks = String(repeating: " ", count: Feed.maxBytes)
        #expect(throws: FeedError.tooLarge(limit: Feed.maxBytes)) { try Self.feed(blanks + "[]") }
        let some = String(repeating: " ", count: Feed.maxJSONBytes - 9)
        #expect(try Self.feed(some + #"["/a"]"#).entries.count == 1)
        #expect(throws: FeedError.tooLarge(limit: Feed.maxJSONBytes)) { try Self.feed(some + #"["/a","/b"]"#) }
    }

    @Test("Entries that share a name with others have none, and the others keep theirs")
    func sharedNames() throws {
        let items = ["a 1", "a 2", "b 3", "c 4", "c 4"].map { item in
            let words = item.split(separator: " ")
            return "<item><guid>\(words[0])</guid><enclosure url='/\(words[1])'/></item>"
        }
        let feed = try Self.feed("<rss><channel>\(items.joined())</channel></rss>")
        #expect(feed.entries.map { $0.guid ?? "-" } == ["-", "-", "b", "c", "c"] && feed.sharedNames == 2)
        let json = try Self.feed(#"[{"id": 1, "url": "/1"}, {"id": 1, "url": "/2"}]"#)
        #expect(json.entries.map(\.guid) == [nil, nil] && json.sharedNames == 2)
    }

    @Test("A date that cannot be read is counted, and another one of the entry stands for it")
    func oddDates() throws {
        let item = "<item><pubDate>soon</pubDate>%<enclosure url='/1'/></item>"
        let text = "<rss><channel>\(item)</channel></rss>"
        let odd = try Self.feed(text.replacing("%", with: ""))
        #expect(odd.entries.map(\.date) == [nil] && odd.repairs.texts == ["1 unreadable date"])
        let other = try Self.feed(text.replacing("%", with: "<dc:date>2002-10-02</dc:date>"))
        #expect(other.entries.map(\.date) == [1_033_516_800] && other.repairs.texts.isEmpty)
    }

    @Test("The newest entries are those with the latest dates, or the first ones if a date is missing")
    func newest() throws {
        let entry = { (path: String, date: Int64?) in FeedEntry(url: try MediaURL("https://a/\(path)"), date: date) }
        let dated = Feed(entries: [try entry("1", 10), try entry("2", 30), try entry("3", 30), try entry("4", 20)])
        #expect(dated.entries(underLimit: 4).map(\.url.path) == ["/2", "/3", "/4", "/1"])
        let undated = Feed(entries: [try entry("1", 10), try entry("2", nil), try entry("3", 30)])
        #expect(undated.entries(underLimit: 4).map(\.url.path) == ["/1", "/2", "/3"])
    }

    @Test("A file is a feed if it is XML or one value of JSON, and a list of titles if not")
    func begins() {
        #expect(Feed.begins(Array(Self.rss.utf8)) && Feed.begins(Array("\u{FEFF}\n [\"a\"]".utf8)))
        #expect(Feed.begins(Array(#"{"entries": []}"#.utf8)))
        #expect(!Feed.begins(Array("{\"url\": \"a\"}\n{\"url\": \"b\"}".utf8)))
        #expect(!Feed.begins(Array("# films\nhttps://a.example/1".utf8)) && !Feed.begins([]))
    }

    @Test("Damaged feeds are read or refused, and never end the process", arguments: 0..<300)
    func fuzz(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var bytes = Array((seed.isMultiple(of: 2) ? Self.rss : #"{"items": [{"id": 1, "attachments": []}]}"#).utf8)
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &random)
            case 1: bytes.remove(at: place)
            default: bytes.insert(contentsOf: bytes[place...].prefix(20), at: place)
            }
        }
        if let feed = try? Feed(bytes, at: try MediaURL(Self.base)) { #expect(feed.entries.count <= 20) }
    }
}
