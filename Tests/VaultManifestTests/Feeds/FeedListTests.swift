import Testing
import VaultModel

@testable import VaultManifest

/// Lists that are not feeds of a publisher: playlists of players, and lists of feeds.
@Suite("Lists that programs write")
struct FeedListTests {
    private static func feed(_ text: String) throws -> Feed {
        try Feed(Array(text.utf8), at: try MediaURL("https://a.example/lists/x"))
    }

    @Test("The files of a PLS list are titles in the order of their numbers, whatever the order of its lines")
    func pls() throws {
        let feed = try Self.feed(
            "\r\n[Playlist]\r\nNumberOfEntries=3\r\nfile10=/ten\r\nTITLE2= The  second \r\nFile2=two.mp3?a=b\r\n"
                + "File1=https://b.example/1\r\nLength1=-1\r\nFile=x\r\nFile3=ftp://a.example/3\r\nVersion=2")
        #expect(
            feed.entries.map(\.url.absoluteString) == [
                "https://b.example/1", "https://a.example/lists/two.mp3?a=b", "https://a.example/ten",
            ])
        #expect(feed.entries.map(\.title) == [nil, "The second", nil] && feed.unusable == 1)
        #expect(try Self.feed("[playlist]").entries.isEmpty)
        #expect(try Self.feed("[\"/a\"]").entries.count == 1, "a list in JSON begins alike")
        #expect(Feed.begins(Array("[playlist]\nFile1=a".utf8)))
    }

    @Test("The tracks of an XSPF playlist are titles, at the bases that it states")
    func xspf() throws {
        let feed = try Self.feed(
            """
            <?xml version="1.0" encoding="ISO-8859-1"?>
            <playlist version="1" xmlns="http://xspf.org/ns/0/" xml:base="https://b.example/c/"><title>Mix</title>
            <image>cover.jpg</image><trackList><track><location>1.flac</location><title>O&amp;ne</title></track>
            <track><location>file:///2</location><location> /2.flac </location><image>/2.jpg</image></track>
            <track><title>No place</title></track><track><location>file:///4</location></track></trackList></playlist>
            """)
        #expect(feed.title == "Mix" && feed.unusable == 1)
        #expect(
            feed.entries.map(\.url.absoluteString) == ["https://b.example/c/1.flac", "https://b.example/2.flac"])
        #expect(feed.entries.map(\.title) == ["O&ne", nil])
        #expect(
            feed.entries.map(\.picture?.absoluteString) == [
                "https://b.example/c/cover.jpg", "https://b.example/2.jpg",
            ])
    }

    @Test("A list in XML is read strictly, and nothing is expanded")
    func strict() {
        for text in [
            "<playlist><trackList>",
            "<playlist><trackList><track><location>a & b</location></track></trackList></playlist>",
            "<!DOCTYPE playlist [<!ENTITY a 'b'>]><playlist><trackList/></playlist>",
            "<opml>" + String(repeating: "<outline>", count: 40)
                + String(repeating: "</outline>", count: 40) + "</opml>",
        ] {
            #expect(throws: FeedError.self, "\(text.prefix(60))") { try Self.feed(text) }
        }
    }

    @Test("A list of feeds is refused with their addresses, without queries and at most fifty")
    func opml() throws {
        let outlines = (1...60).map { number in
            "<outline text='a'><outline type='rss' xmlURL='/\(number)?token=hunter2'/></outline>"
        }
        let error = #expect(throws: FeedError.self) {
            try Self.feed("<opml version='2.0'><body>\(outlines.joined())</body></opml>")
        }
        let text = try #require(error?.description)
        #expect(text.hasPrefix("it is a list of 60 feeds (OPML): https://a.example/1?…, https://a.example/2?…, "))
        #expect(text.hasSuffix(", https://a.example/50?…, and 10 more") && !text.contains("hunter2"))
        #expect(error?.remedy == "follow each of them by itself")
        let empty = #expect(throws: FeedError.self) { try Self.feed("<opml><body/></opml>") }
        #expect(empty?.description == "it is a list of 0 feeds (OPML)")
    }

    @Test(
        "A feed names its next page, or its archive, and where it is from now on",
        arguments: [
            ("<atom:link rel='self' href='/s'/><atom:link rel='next' href='?page=2'/>", "/lists/x?page=2"),
            ("<link rel='prev-archive' href='old.xml'/><link rel='next' href='2.xml'/>", "/lists/2.xml"),
            ("<link rel='NEXT' href='2.html' type='text/html'/>", nil), ("<link rel='next' href='ftp://a/'/>", nil),
            ("<link>/next</link>", nil), ("", nil),
        ] as [(String, String?)])
    func next(links: String, expected: String?) throws {
        let items = "<item><enclosure url='/1'/><link rel='next' href='/no'/></item>"
        let moved = "<itunes:new-feed-url> https://b.example/f </itunes:new-feed-url>"
        for text in [
            "<rss><channel>\(links)\(moved)\(items)</channel></rss>",
            "<feed>\(links)\(moved)<entry><link rel='enclosure' href='/1'/></entry></feed>",
        ] {
            let feed = try Self.feed(text)
            #expect(feed.next.map { $0.path + ($0.query.map { "?\($0)" } ?? "") } == expected)
            #expect(feed.newLocation?.absoluteString == "https://b.example/f" && feed.entries.count == 1)
        }
    }

    @Test("A page adds its entries, tells whether any is new, and shares names with those before it")
    func append() throws {
        let page = { (items: String) in try Self.feed("[\(items)]") }
        var feed = try page(#"{"url": "/1", "id": "a"}, {"url": "/2", "id": "b"}"#)
        var known = Set(feed.entries.map(\.url))
        var isNew = try feed.append(page(#"{"url": "/3", "id": "a"}, {"url": "/4", "id": "c"}"#), to: &known)
        #expect(isNew)
        isNew = try feed.append(page(#"{"url": "/2", "id": "b"}, {"url": "/4", "id": "c"}"#), to: &known)
        #expect(!isNew)
        isNew = try feed.append(page(#"{"url": "/5", "id": "a"}"#), to: &known)
        #expect(isNew)
        isNew = try feed.append(page(#""ftp://a.example/""#), to: &known)
        #expect(isNew && feed.unusable == 1)
        isNew = try feed.append(page(""), to: &known)
        #expect(!isNew, "it is empty")
        let text = #"{"version": "https://jsonfeed.org/version/1", "items": [{"id": "t", "content_text": "x"}]}"#
        isNew = try feed.append(Self.feed(text), to: &known)
        #expect(isNew, "it has texts alone")
        feed.complete()
        #expect(feed.entries.map(\.guid) == [nil, "b", nil, "c", "b", "c", nil] && feed.sharedNames == 3)
    }
}
