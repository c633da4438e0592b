import Testing
import VaultModel

@testable import VaultManifest

/// The markup of feeds with the faults that publishers make, and with those that are attacks.
@Suite("Markup of feeds")
struct FeedMarkupTests {
    private static func feed(_ text: String) throws -> Feed {
        try Feed(Array(text.utf8), at: try MediaURL("https://a.example/feed"))
    }

    /// Returns a feed of two entries with a text around or in the first.
    private static func rss(head: String = "", channel: String = "", item: String = "", end: String = "") -> String {
        "\(head)<rss version='2.0'><channel><title>S</title>\(channel)<item>\(item)<enclosure url='/1'/></item>"
            + "<item><enclosure url='/2'/></item></channel></rss>\(end)"
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let text: String
        let repairs: [String]

        init(_ text: String, _ repairs: String...) { (self.text, self.repairs) = (text, repairs) }

        var testDescription: String { String(text.prefix(120)) }
    }

    @Test(
        "A fault with one likely meaning costs no entry, and is counted by its kind",
        arguments: [
            Fault(rss(channel: "<description>a & b && c &x; &;</description>"), "5 bare &"),
            Fault(rss(item: "<link>/a?b=1&c=2</link>"), "1 bare &"),
            Fault(rss(channel: "<a>&nbsp;&eacute;&copy;</a>"), "3 HTML entities"),
            Fault(rss(channel: "<a>1 < 2 <3</a>"), "2 bare <"),
            Fault(rss(channel: "<a>\u{B}b&#0;&#xFFFFFFF;</a>"), "3 control characters"),
            Fault(rss(channel: "<a><![CDATA[\u{1}]]></a>"), "1 control character"),
            Fault(rss(item: "<a b=c d e='1' e='2'/>"), "3 odd attributes"),
            Fault(rss(item: "<b>a</i><p>b<br>c<p>d"), "3 odd tags"),
            Fault(rss(channel: "</nothing>"), "1 odd tag"), Fault(rss(item: "<b <i>a</i></b>"), "1 odd tag"),
            Fault(rss(item: "<![if !mso]>a<![endif]>"), "2 odd tags"),
            Fault(rss(head: "Warning! "), "1 text before the feed"),
            Fault(rss(head: "<b>Warning</b>"), "1 odd tag", "2 texts before the feed"),
            Fault(rss(end: "<script>a</script>"), "1 text after the feed"),
            Fault(rss(end: "a"), "1 text after the feed"),
            Fault(String(rss().dropLast(1)), "1 odd tag"), Fault(String(rss().dropLast(6)), "1 odd tag"),
            Fault(rss().replacing("</item>", with: "</item"), "2 odd tags"),
            Fault(rss().replacing("</item>", with: ""), "2 odd tags"),
        ])
    func repairs(fault: Fault) throws {
        // A feed begins with a tag.
        let feed = try Self.feed(fault.text.hasPrefix("<") ? fault.text : "<?xml version='1.0'?>" + fault.text)
        #expect(feed.entries.map(\.url.path) == ["/1", "/2"])
        #expect(feed.repairs.texts == fault.repairs)
    }

    @Test(
        "What is well-formed, or harmless, is no fault",
        arguments: [
            rss(head: "\n \r\n<?xml version='1.0'?>\n"), rss(head: "<?xml-stylesheet href='a.xsl'?><!-- a -- b -->"),
            rss(item: "<description><![CDATA[Write <!DOCTYPE html> & <html>.]]></description>"),
            rss(head: "<!-- <!DOCTYPE a [<!ENTITY b 'c'>]> -->"), rss(end: "\n<!-- a -->\n"),
            rss(head: "<!DOCTYPE rss PUBLIC '-//Netscape//DTD RSS 0.91//EN' 'http://my.netscape.com/rss-0.91.dtd'>"),
            rss(head: "<!doctype rss>"), rss(head: "<!DOCTYPE rss [<!ELEMENT rss ANY><!-- > ' -->]>"),
            rss(
                head: "<!DOCTYPE rss [<!ENTITY nbsp '&#160;'><!ENTITY % HTMLlat1 PUBLIC\n"
                    + " '-//W3C//ENTITIES Latin 1 for XHTML//EN' 'a.ent'> %HTMLlat1;]>"
            ),
            rss(
                item: "<a>" + String(repeating: "<blockquote>", count: 100)
                    + String(repeating: "</blockquote>", count: 100) + "</a>"),
            rss().uppercased().replacing("/1", with: "/1"), rss(item: "<a b='x > y'/>"),
        ])
    func harmless(text: String) throws {
        let feed = try Self.feed(text)
        #expect(feed.entries.map(\.url.path) == ["/1", "/2"] && feed.repairs.texts.isEmpty)
    }

    @Test(
        "What is refused names line, column and cause",
        arguments: [
            ("<rss>\n<channel><item>", "line 2, column 16: it breaks off"),
            (rss(channel: "\n <!-- a"), "line 2, column 2: a comment does not end"),
            (rss(channel: "\n é<![CDATA[a"), "line 2, column 3: a CDATA section does not end"),
            ("<rss><channel>\n<item a='b", "line 2, column 1: the value of an attribute does not end"),
            ("<rss><channel>\n<item a", "line 2, column 1: a tag does not end"),
            ("\n<!DOCTYPE rss [<!ENTITY a 'b'>]><rss/>", entity(2, 16)),
            ("<!DOCTYPE rss [<!ENTITY nbsp SYSTEM 'file:///etc/passwd'>]><rss/>", entity(1, 16)),
            ("<!DOCTYPE rss [<!ENTITY % a SYSTEM 'http://a.example/'> %a;]><rss/>", entity(1, 16)),
            ("<!DOCTYPE rss [<!ENTITY % a '<!ENTITY b \"c\">'>%a;]><rss/>", entity(1, 16)),
            ("<rss><channel>\n<!DOCTYPE a [<!entity a 'b'>]>", entity(2, 14)),
            ("<!DOCTYPE rss [", "line 1, column 1: a document type does not end"),
        ])
    func refusals(text: String, expected: String) {
        let error = #expect(throws: FeedError.self) { try Self.feed(text) }
        #expect(error?.description == expected)
    }

    private static func entity(_ line: Int, _ column: Int) -> String {
        "line \(line), column \(column): the document type defines an entity, and none is expanded"
    }

    @Test("A feed that breaks off anywhere is refused, unless all of its entries and its channel are there")
    func cut() throws {
        let text = Self.rss()
        for count in 1..<(text.count - "></rss>".count) {
            #expect(throws: FeedError.self, "\(count)") { try Self.feed(String(text.prefix(count))) }
        }
        #expect(throws: FeedError.self) { try Self.feed("<feed><entry><link rel='enclosure' href='/1'/></entry>") }
    }

    @Test(
        "What would hide an entry is no repair: the feed is refused",
        arguments: [
            // A missing quotation mark, a comment that ends within another one, and an end tag that closes nothing.
            rss(item: "<image href=\"/a/><guid>1</guid></item><item><image href=\"/b\"/>"),
            rss(channel: "<!-- old -- ><item><enclosure url='/0'/></item><!-- new -->"),
            rss(item: "<description>how feeds end: </rss></description>"),
        ])
    func hidden(text: String) {
        #expect(throws: FeedError.self) { try Self.feed(text) }
    }

    @Test("A comment may have a whole entry in it, and an id stands at any depth, as its file does")
    func comment() throws {
        let feed = try Self.feed(
            Self.rss(item: "<!-- <item><enclosure url='/0'/></item> --><title>A<guid>1</guid>"))
        #expect(feed.entries.map(\.url.path) == ["/1", "/2"] && feed.entries.first?.guid == "1")
    }

    @Test("A bare < may hide an entry only where a tag may have been meant")
    func bareAngle() throws {
        let hides = { (text: String) in try Self.feed(Self.rss(channel: "<a>\(text)</a>")).repairs.mayHideEntries }
        for text in ["1 < 2", "<3", "a < b", "x <= y", "< ", "<< 2 > 1", "< 7 and a > b", "a <\n1 > b", "a <"] {
            #expect(try !hides(text), "\(text)")
        }
        for text in [
            "< enclosure url='/0'/>", "<\nitem>", "< item", "< /item", "<-item>", "< guid>1", "a <= b > c", "< ITEM",
        ] {
            #expect(try hides(text), "\(text)")
        }
    }

    @Test("An end tag closes the innermost element of its name, but none around the entry that it stands in")
    func endTags() throws {
        let feed = try Self.feed(
            "<rss><channel><b><item><a><c></b><a></c><enclosure url='/1'/></a></b></item></b>"
                + "<item><a><enclosure url='/2'/></item></channel></rss>")
        #expect(feed.entries.map(\.url.path) == ["/1", "/2"])
        #expect(feed.repairs.texts == ["4 odd tags"])
    }

    @Test("Bases around many entries, pieces of text and end tags cost no more than they are long")
    func work() throws {
        let bases = String(repeating: "<x xml:base='a/'>", count: 240)
        let items = String(repeating: "<item><enclosure url='1'/></item>", count: 2000)
        #expect(throws: FeedError.self) { try Self.feed("<rss>\(bases)\(items)") }
        let pieces = String(repeating: "< ", count: 300_000) + String(repeating: "</a>", count: 100_000)
        #expect(try Self.feed(Self.rss(item: pieces)).entries.count == 2)
        let deep = String(repeating: "<a>", count: 245) + String(repeating: "</b>", count: 5_000_000)
        let walled = "<rss><channel><b><item>\(deep)<enclosure url='/1'/></item></b></channel></rss>"
        #expect(try Self.feed(walled).entries.count == 1)
        let more = String(repeating: "<item/>", count: Feed.maxStated)
        #expect(throws: FeedError.self) { try Self.feed(Self.rss(channel: more)) }
    }

    @Test("An entity is never expanded, whatever defines it")
    func entities() throws {
        let head = "<!DOCTYPE rss [<!ENTITY nbsp 'far too much'>]>"
        let feed = try Self.feed(Self.rss(head: head, item: "<title>a&nbsp;b&amp;c;&amp;lt;</title>"))
        #expect(feed.entries.first?.title == "a b&c;<")
    }

    @Test("Depth, attributes and elements are bounded")
    func bounds() throws {
        let nested = { (count: Int) in
            Self.rss(item: String(repeating: "<a>", count: count) + String(repeating: "</a>", count: count))
        }
        let deepest = FeedTree.maxDepth - 3
        #expect(try Self.feed(nested(deepest)).entries.count == 2)
        for count in [deepest + 1, 100_000] {
            let error = #expect(throws: FeedError.self) { try Self.feed(nested(count)) }
            #expect(error?.description.hasSuffix("elements are nested more than 256 deep") == true)
        }
        let attributes = { (count: Int) in
            Self.rss(item: "<a" + (0..<count).map { " b\($0)='c'" }.joined() + "/>")
        }
        #expect(try Self.feed(attributes(FeedMarkup.maxAttributes)).entries.count == 2)
        #expect(throws: FeedError.self) { try Self.feed(attributes(FeedMarkup.maxAttributes + 1)) }
        let many = { (count: Int) in String(repeating: "<a/>", count: count) }
        #expect(try Self.feed(Self.rss(channel: many(100_000), item: many(90_000))).entries.count == 2)
        #expect(throws: FeedError.self) { try Self.feed(Self.rss(item: many(FeedTree.maxElements))) }
        #expect(throws: FeedError.self) { try Self.feed(Self.rss(channel: many(FeedTree.maxElements))) }
    }

    @Test("A feed of seventeen megabytes and ten thousand and one entries is read")
    func large() throws {
        let text = String(repeating: "Lorem ipsum dolor sit amet. ", count: 60)
        let item = "<item><title>A</title><description>\(text)</description><enclosure url='/1'/></item>"
        let feed = try Self.feed("<rss><channel>\(String(repeating: item, count: 10_001))</channel></rss>")
        #expect(feed.entries.count == 10_001)
    }
}
