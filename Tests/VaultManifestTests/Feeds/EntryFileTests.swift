import Testing
import VaultModel

@testable import VaultManifest

/// The files and titles of entries, in all the vocabularies of feeds.
@Suite("Entries of feeds")
struct EntryFileTests {
    private static func feed(_ text: String) throws -> Feed {
        try Feed(Array(text.utf8), at: try MediaURL("https://a.example/feed"))
    }

    private static let alternate = "podcast:alternateEnclosure type='audio/ogg'"

    @Test(
        "An entry of RSS and of Atom names its file in any vocabulary, and the best one counts",
        arguments: [
            ("<enclosure url='/1' type='audio/mpeg'/>", "/1"), ("<enclosure href='/1'/>", "/1"),
            ("<atom:link rel='enclosure' href='/1' type='audio/mpeg'/>", "/1"),
            ("<link rel='alternate' href='/page'/><link rel=' Enclosure ' href='/1'/>", "/1"),
            ("<media:content url='/1' type='video/mp4'/>", "/1"),
            ("<media:group><media:content url='/1'/><media:content url='/2' isDefault='true'/></media:group>", "/2"),
            ("<media:content url='/2'/><enclosure url='/1'/>", "/1"),
            ("<content type='html'>a</content><media:content url='/1'/>", "/1"),
            ("<\(alternate)><podcast:source uri='/1'/></podcast:alternateEnclosure>", "/1"),
            (
                "<\(alternate)><podcast:source uri='ipfs://a'/><podcast:source uri='/1'/></podcast:alternateEnclosure>",
                "/1"
            ),
            (
                "<\(alternate)><podcast:source uri='/1'/></podcast:alternateEnclosure>"
                    + "<\(alternate) default='true'><podcast:source uri='/2'/></podcast:alternateEnclosure>", "/2"
            ),
            ("<\(alternate)><podcast:source uri='/2'/></podcast:alternateEnclosure><enclosure url='/1'/>", "/1"),
            ("<enclosure url='/cover.jpg' type='image/jpeg'/><enclosure url='/1'/>", "/1"),
            ("<enclosure url=''/><media:content url='/1'/>", "/1"),
            ("<source><link rel='enclosure' href='/2'/></source><enclosure url='/1'/>", "/1"),
            ("<p>left open<enclosure url='/1'/>", "/1"),
            ("<enclosure url='1' xml:base='/show/'/>", "/show/1"), ("<enclosure url=' /1\n'/>", "/1"),
        ])
    func files(elements: String, path: String) throws {
        for text in ["<rss><channel><item>%</item></channel></rss>", "<feed><entry>%</entry></feed>"] {
            let feed = try Self.feed(text.replacing("%", with: elements))
            #expect(feed.entries.map(\.url.path) == [path] && feed.unusable == 0, "\(text)")
        }
    }

    @Test("Entries are found in RSS 0.9x, 1.0 and 2.0, and outside the channel")
    func places() throws {
        let item = "<item><enclosure url='/1'/></item>"
        for text in [
            "<rss><channel>\(item)</channel></rss>", "<rss><channel/>\(item)</rss>", "<channel>\(item)</channel>",
            "<rss>\(item)</rss>",
            "<rdf:RDF xmlns='a'><channel><items/></channel>\(item)</rdf:RDF>",
        ] {
            #expect(try Self.feed(text).entries.map(\.url.path) == ["/1"])
        }
    }

    @Test(
        "A title is plain text on one line, whatever it is written in",
        arguments: [
            ("<title>A &lt;i>b&lt;/i> &amp;amp; c</title>", "A b & c", "A <i>b</i> &amp; c"),
            ("<title>\n  Episode\n  one\n</title>", "Episode one", nil),
            ("<title><![CDATA[A <b>b</b>]]></title>", "A b", "A <b>b</b>"),
            ("<title>1 &lt; 2 &amp; 3</title>", "1 < 2 & 3", nil),
            ("<title>Vec&lt;T&gt; &lt;/x></title>", "Vec<T> </x>", nil),
            ("<title>How to use &lt;b&gt;</title>", "How to use <b>", nil),
            ("<title>A &amp;#8217; b</title>", "A ’ b", "A &#8217; b"),
            ("<title type='html'>The &lt;b>big&lt;/b> &amp;amp; small</title>", "The big & small", nil),
            ("<title type='html'>a&lt;br/>b&lt;p>c&lt;script>d&lt;/script></title>", "a b c", nil),
            ("<title type='xhtml'><div>The <b>b</b>ig<br/>one</div></title>", "The big one", nil),
            ("<title type='text'>A &lt;i>b&lt;/i></title>", "A b", "A <i>b</i>"),
            ("<title>A <b>raw</b> one</title>", "A raw one", nil), ("<title>caf&eacute;</title>", "café", nil),
            ("<itunes:title>Not</itunes:title><title>This</title>", "This", nil),
        ] as [(String, String, String?)])
    func titles(element: String, rss: String, atom: String?) throws {
        let item = "<item>\(element)<enclosure url='/1'/></item>"
        #expect(try Self.feed("<rss><channel>\(item)</channel></rss>").entries.first?.title == rss)
        let entry = "<entry>\(element)<link rel='enclosure' href='/1'/></entry>"
        #expect(try Self.feed("<feed>\(entry)</feed>").entries.first?.title == atom ?? rss)
        #expect(try Self.feed("<rss><channel>\(element)\(item)</channel></rss>").title == rss)
    }

    @Test("An empty title, or one of markup alone, is none", arguments: ["", " \n", "&lt;b>&lt;/b>", "&amp;nbsp;"])
    func noTitle(text: String) throws {
        let item = "<item><title>\(text)</title><enclosure url='/1'/></item>"
        #expect(try Self.feed("<rss><channel>\(item)</channel></rss>").entries.map(\.title) == [nil])
    }
}
