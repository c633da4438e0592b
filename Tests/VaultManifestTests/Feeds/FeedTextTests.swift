import Testing
import VaultModel

@testable import VaultManifest

/// The encodings of feeds: bytes, and what is said of them.
@Suite("Encodings of feeds")
struct FeedTextTests {
    private static func prolog(_ encoding: String) -> [UInt8] {
        Array("<?xml version=\"1.0\" encoding=\"\(encoding)\"?>".utf8)
    }

    /// Returns the text after the prolog.
    private static func text(_ bytes: [UInt8], type: String? = nil) -> String {
        let text = String(decoding: FeedText(bytes, type: type).bytes, as: UTF8.self)
        return text.firstRange(of: "?>").map { String(text[$0.upperBound...]) } ?? text
    }

    @Test(
        "A text is read in the encoding that its prolog names, in any spelling",
        arguments: [
            ("ISO-8859-1", [0xE4, 0x80], "ä€"), ("latin1", [0xF3], "ó"), ("windows-1252", [0x93], "“"),
            ("ISO-8859-2", [0xE8], "č"), ("iso-8859-5", [0xE4], "ф"), ("ISO_8859-15", [0xA4], "€"),
            ("windows-1250", [0xE8], "č"), ("Windows-1251", [0xE4, 0xF6], "дц"), ("cp1251", [0xE4], "д"),
            ("windows-1253", [0xE4], "δ"), ("windows-1255", [0xE0], "א"), ("windows-1257", [0xE0], "ą"),
            ("KOI8-R", [0xE4], "Д"), ("macintosh", [0x8A], "ä"), ("Shift_JIS", [0x93, 0xFA], "日"),
            ("gb2312", [0xD6, 0xD0], "中"), ("Big5", [0xA4, 0xA4], "中"), ("euc-kr", [0xC7, 0xD1], "한"),
            ("utf8", [0xC3, 0xA4], "ä"), ("UTF-8", [0xC3, 0xA4], "ä"), ("us-ascii", [0x61], "a"),
        ] as [(String, [UInt8], String)])
    func encodings(name: String, bytes: [UInt8], expected: String) {
        let feed = Self.prolog(name) + bytes
        #expect(Self.text(feed) == expected && FeedText(feed).guessed == nil)
        #expect(Self.text(bytes, type: "text/xml; Charset=\"\(name)\"") == expected)
    }

    @Test("UTF-16 and UTF-32 are read in both orders, with and without a byte order mark, whatever the prolog says")
    func wide() {
        for name in ["UTF-16", "utf-8", "ISO-8859-1"] {
            let text = String(decoding: Self.prolog(name), as: UTF8.self) + "ä\u{1F600}"
            let units: [[UInt8]] = text.utf16.map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
            let scalars: [[UInt8]] = text.unicodeScalars.map { scalar in
                [24, 16, 8, 0].map { UInt8(scalar.value >> $0 & 0xFF) }
            }
            for (mark, bytes) in [([0xFE, 0xFF], units), ([0, 0, 0xFE, 0xFF], scalars)] as [([UInt8], [[UInt8]])] {
                let (big, little) = (Array(bytes.joined()), bytes.flatMap { $0.reversed() })
                for feed in [big, little, mark + big, mark.reversed() + little] {
                    #expect(Self.text(feed) == "ä\u{1F600}" && FeedText(feed).guessed == nil)
                }
                #expect(Self.text(big.dropLast() + []).hasPrefix("ä"), "half a character is none")
            }
        }
    }

    @Test("The word of the origin comes before that of the prolog, and a byte order mark before both")
    func precedence() {
        let feed = Self.prolog("windows-1251") + [0xE4]
        #expect(Self.text(feed) == "д" && Self.text(feed, type: "text/xml") == "д")
        #expect(Self.text(feed, type: "text/xml; charset=ISO-8859-1") == "ä")
        let marked = [0xEF, 0xBB, 0xBF] + Self.prolog("windows-1251") + [0xC3, 0xA4]
        #expect(Self.text(marked, type: "text/xml; charset=windows-1251") == "ä")
    }

    @Test(
        "Where no statement is true, the text is UTF-8, else windows-1252, and that is said",
        arguments: [
            ("utf-8", [0xE4], "ä", "windows-1252"), ("no-such", [0xC3, 0xA4], "ä", "UTF-8"),
            ("UTF-16", [0xC3, 0xA4], "ä", "UTF-8"), ("Shift_JIS", [0xFF, 0xE4], "ÿä", "windows-1252"),
            ("", [0x99], "™", "windows-1252"),
        ] as [(String, [UInt8], String, String)])
    func guesses(name: String, bytes: [UInt8], expected: String, guessed: String) throws {
        let text = Self.prolog(name) + bytes
        #expect(Self.text(text) == expected && FeedText(text).guessed == guessed)
        let feed = try Feed(text + Array("<rss><channel/></rss>".utf8), at: nil)
        #expect(feed.repairs.texts.first == "text in \(guessed)")
    }

    @Test("Every sequence of bytes is some text", arguments: UInt8.min...UInt8.max)
    func total(byte: UInt8) {
        for name in ["utf-8", "windows-1252", "gb18030", "utf-16", "iso-2022-jp"] {
            let text = FeedText(Self.prolog(name) + [byte, 0x3C, byte, byte], type: nil)
            #expect(String(validating: text.bytes, as: UTF8.self) != nil)
        }
        #expect(String(validating: FeedText([byte]).bytes, as: UTF8.self) != nil)
        #expect(String(validating: FeedText([0, byte, 0, byte, byte]).bytes, as: UTF8.self) != nil)
    }
}
