import Testing
import VaultModel

@testable import VaultManifest

@Suite("XML of manifests")
struct MarkupTests {
    private static func error(_ bytes: [UInt8], limits: ManifestLimits = .standard) -> ManifestError? {
        do throws(ManifestError) {
            _ = try MarkupReader.read(bytes, limits: limits)
            return nil
        } catch {
            return error
        }
    }

    private static func written(_ text: String) throws -> String {
        let root = try MarkupReader.read(Array(text.utf8), limits: .standard)
        return String(decoding: MarkupWriter.write(root, capacity: 0), as: UTF8.self)
    }

    private static let head = #"<?xml version="1.0" encoding="UTF-8"?>"# + "\n"

    @Test(
        "What is not understood is written as it stands, but as elements and text only; attributes are sorted",
        arguments: [
            ("<a/>", "<a/>"), ("<a></a>", "<a/>"), ("<a b='1' A=\"2\" x:c='3'/>", #"<a A="2" b="1" x:c="3"/>"#),
            ("<a xmlns='u' xmlns:p='v'><p:b/></a>", #"<a xmlns="u" xmlns:p="v"><p:b/></a>"#),
            (
                "<a b='&amp;&lt;&gt;&quot;&apos;&#9;&#10;&#13;&#x41;'/>",
                #"<a b="&amp;&lt;&gt;&quot;'&#9;&#10;&#13;A"/>"#
            ),
            ("<a>\n\t<b>x &amp; y ü</b>\n</a>", "<a>\n\t<b>x &amp; y ü</b>\n</a>"),
            ("<a>x\r\ny&#13;z</a>", "<a>x\ny&#13;z</a>"),
            ("<a><!-- <b> --><?p q?><![CDATA[]]></a>", "<a/>"),
            ("<a><![CDATA[<b>&]]]]><![CDATA[>]]></a>", "<a>&lt;b&gt;&amp;]]&gt;</a>"),
            ("<a>t<![CDATA[d]]>t<!-- c -->t<?p q?>t</a>", "<a>tdttt</a>"),
            ("<!--1--><?p q?><a/><!--2-->", "<a/>"), ("\u{FEFF}<?xml version='1.0'?><a/>", "<a/>"),
        ])
    func writing(text: String, expected: String) throws {
        let once = try Self.written(text)
        #expect(once == Self.head + expected + "\n")
        #expect(try Self.written(once) == once)
    }

    @Test("A text that the parser reports in many pieces is one text")
    func longText() throws {
        let text = String(repeating: "é&amp;", count: 200_000)
        let root = try MarkupReader.read(Array("<a>\(text)</a>".utf8), limits: .standard)
        #expect(root.children.count == 1)
        #expect(root.text.utf8.count == 600_000)
    }

    @Test(
        "A document type is refused in every case and place",
        arguments: [
            "<!DOCTYPE a><a/>", "<!doctype a [<!ENTITY b 'c'>]><a>&b;</a>",
            "<?xml version='1.0'?>\n<!DocType a SYSTEM 'file:///etc/passwd'><a/>",
            "<!-- --><!DOCTYPE a><a/>", "<a><!DOCTYPE b></a>", "<!-- <!DOCTYPE a> --><a/>",
            "<a><![CDATA[<!DOCTYPE b>]]></a>",
            "\u{FEFF}<!DOCTYPE a><a/>", "  \n<!DOCTYPE a><a/>",
        ])
    func documentType(text: String) { #expect(Self.error(Array(text.utf8)) == .declaresDocumentType) }

    @Test(
        "What stands behind the root is not read, whatever it is",
        arguments: [
            "\n\n", "text", "<b/>", "<!-- </a> ", "<!DOCTYPE a>", "<?p?>", "</a>", "\0\0", "\u{0}<a>", "<a", "&b;",
            "]]>",
            "<html><script>alert(1)</script>",
        ])
    func tail(text: String) throws {
        #expect(try Self.written("<a><b/></a>" + text) == Self.head + "<a><b/></a>\n")
        #expect(try Self.written("<a/>" + text) == Self.head + "<a/>\n")
        let latin = try MarkupReader.read(Array("<a>é</a>\(text)".utf8) + [0xFC, 0xFF], limits: .standard)
        #expect(latin.text == "é")
    }

    @Test("What stands behind the root counts for the bound on bytes, and for no other")
    func tailLimits() {
        var small = ManifestLimits.standard
        (small.maxBytes, small.maxElements) = (100, 1)
        #expect(Self.error(Array(("<a/>" + String(repeating: "<b>", count: 32)).utf8), limits: small) == nil)
        #expect(
            Self.error(Array(("<a/>" + String(repeating: " ", count: 97)).utf8), limits: small) == .tooLarge(limit: 100)
        )
    }

    @Test("An entity bomb is refused before it is read")
    func entityBomb() {
        let names = "abcdefghij".map(String.init)
        let entities = zip(names, names.dropFirst()).map { one, other in
            "<!ENTITY \(other) \"\(String(repeating: "&\(one);", count: 10))\">"
        }
        let text = "<?xml version=\"1.0\"?><!DOCTYPE MPD [<!ENTITY a \"lol\">\(entities.joined())]><MPD>&j;</MPD>"
        #expect(Self.error(Array(text.utf8)) == .declaresDocumentType)
    }

    @Test("Entities that are not declared are refused, in text and in attributes")
    func entities() {
        #expect(Self.error(Array("<a>&b;</a>".utf8)) == .malformed(line: 1, .element))
        #expect(Self.error(Array("<a\n b='&c;'/>".utf8)) == .malformed(line: 2, .element))
        let many = "<a>" + String(repeating: "&b;", count: 100_000) + "</a>"
        #expect(Self.error(Array(many.utf8)) == .malformed(line: 1, .element))
    }

    @Test("Only UTF-8 and ASCII are read")
    func encodings() {
        let plain = "<?xml version='1.0'?><!DOCTYPE a><a/>"
        let wide: [UInt8] = plain.utf8.flatMap { [$0, 0] as [UInt8] }
        let bigEndian: [UInt8] = plain.utf8.flatMap { [0, $0] as [UInt8] }
        let wider: [UInt8] = plain.utf8.flatMap { [0, 0, 0, $0] as [UInt8] }
        let texts: [[UInt8]] = [
            [0xFF, 0xFE] + wide, wide, [0xFE, 0xFF] + bigEndian, bigEndian, [0, 0, 0xFE, 0xFF] + wider, wider,
            Array("<a>\u{0}</a>".utf8), [0x3C, 0x61, 0x3E, 0xC3, 0x3C, 0x2F, 0x61, 0x3E], [0x4C, 0x6F, 0xA7, 0x94],
            [0x3C, 0x61, 0x3E, 0xC0, 0xBC, 0x3C, 0x2F, 0x61, 0x3E],
        ]
        for bytes in texts { #expect(Self.error(bytes) == .notText(line: 1)) }
        #expect(Self.error(Array("<a>\n\n\u{0}</a>".utf8)) == .notText(line: 3))
        for name in ["UTF-7", "utf-16", "ISO-8859-1", "UTF-8x", "ebcdic-cp-us", "UTF-8' encoding='UTF-7", ""] {
            let text = "<?xml version='1.0' encoding='\(name)'?><a/>"
            #expect(Self.error(Array(text.utf8)) == .notText(line: 1), "\(name)")
        }
        for name in ["UTF-8", "utf-8", "US-ASCII", "ascii"] {
            #expect(Self.error(Array("<?xml version=\"1.0\" encoding = \"\(name)\" ?><a/>".utf8)) == nil, "\(name)")
        }
    }

    @Test(
        "What is not well-formed is refused",
        arguments: [
            ("<a><b></a>", 1), ("<a>\n<b></a></b>", 2), ("<a", 1), ("<a>", 1), ("<a b=1/>", 1), ("<a b/>", 1),
            ("<a b='1' b='2'/>", 1),
            ("<a>\n<b c='1</b></a>", 2), ("<a><![CDATA[</a>", 1),
            ("<a><!-- -- --></a>", 1), ("<a><!--</a>", 1),
            ("<a><?p</a>", 1), ("<a>\u{1}</a>", 1), ("<a>&#0;</a>", 1), ("<a>&#xD800;</a>", 1), ("<a:b:c/>", 1),
            ("<1/>", 1), ("< a/>", 1),
            ("<?p?><a/>", 1), ("<a>\n<?p?></a>", 2), ("<a><!b></a>", 1),
            ("<a><!ENTITY b 'c'></a>", 1), ("<a <b/>/>", 1), ("text<a/>", 1), ("<a>]]></a>", 1),
        ])
    func malformed(text: String, line: Int) throws {
        switch try #require(Self.error(Array(text.utf8))) {
        case .malformed(line, .element), .malformed(line, .attributes), .notAManifest: break
        case let other: Issue.record("\(other)")
        }
    }

    @Test("An empty document is no manifest", arguments: ["", " ", "text", "<!-- -->", "<?xml version='1.0'?>"])
    func empty(text: String) { #expect(Self.error(Array(text.utf8)) == .notAManifest) }

    @Test("A prefix that is not declared, or another version, is accepted as players do")
    func lenient() throws {
        #expect(
            try Self.written("<?xml version='1.1'?><a y:b='1'><y:c/></a>") == Self.head + #"<a y:b="1"><y:c/></a>"#
                + "\n")
    }

    @Test("Size, depth, elements, attributes and namespaces are limited")
    func limits() {
        var small = ManifestLimits.standard
        small.maxBytes = 10
        #expect(Self.error(Array("<abcdefg/>".utf8), limits: small) == nil)
        #expect(Self.error(Array("<abcdefgh/>".utf8), limits: small) == .tooLarge(limit: 10))
        let nested: (Int) -> [UInt8] = {
            Array((String(repeating: "<a>", count: $0) + String(repeating: "</a>", count: $0)).utf8)
        }
        #expect(Self.error(nested(32)) == nil)
        #expect(Self.error(nested(33)) == .tooDeep(limit: 32))
        #expect(Self.error(nested(10_000)) == .tooDeep(limit: 32))
        let many: (Int) -> [UInt8] = { Array(("<a>" + String(repeating: "<b/>", count: $0) + "</a>").utf8) }
        #expect(ManifestLimits.standard.maxElements == 300_000)
        small = .standard
        small.maxElements = 3
        #expect(Self.error(many(2), limits: small) == nil)
        #expect(Self.error(many(3), limits: small) == .tooManyElements(limit: 3))
        let attributes: (Int, String) -> [UInt8] = { count, name in
            Array(("<a" + (0..<count).map { " \(name)\($0)='u'" }.joined() + "/>").utf8)
        }
        #expect(Self.error(attributes(64, "b")) == nil)
        #expect(Self.error(attributes(65, "b")) == .malformed(line: 1, .attributes))
        #expect(Self.error(attributes(1_000_000, "b")) == .malformed(line: 1, .attributes))
        let one = String(decoding: attributes(40, "xmlns:n").dropLast(2), as: UTF8.self)
        #expect(Self.error(Array("\(one)>\(one)/></a>".utf8)) == .malformed(line: 1, .attributes))
        #expect(Self.error(Array("<r>\(one)/>\(one)/></r>".utf8)) == nil)
        let full = String(decoding: attributes(64, "xmlns:n").dropLast(2), as: UTF8.self)
        #expect(Self.error(Array("\(full)><b/></a>".utf8)) == nil)
        #expect(Self.error(Array("\(full)><b xmlns:o='u'/></a>".utf8)) == .malformed(line: 1, .attributes))
    }
}
