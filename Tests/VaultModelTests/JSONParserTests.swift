import SeededRandom
import Testing

@testable import VaultModel

@Suite("JSON parser")
struct JSONParserTests {
    private static func parse(_ text: String) -> JSONValue? { try? JSONParser.parse(Array(text.utf8)) }

    @Test(
        "The parser reads the JSON that the vault writes",
        arguments: [
            ("null", .null), (" true\n", .bool(true)), ("false", .bool(false)), ("0", .integer(0)),
            ("\t42 ", .integer(42)),
            ("9007199254740991", .integer(9_007_199_254_740_991)), ("\"\"", .string("")), ("[]", .array([])),
            ("[ ]", .array([])),
            ("{}", .object([:])), ("{ }", .object([:])),
            ("[1, \"a\" ,null]", .array([.integer(1), .string("a"), .null])),
            ("{\"b\" : [ { } ] , \"a\":1}", .object(["a": .integer(1), "b": .array([.object([:])])])),
        ] as [(String, JSONValue)])
    func read(text: String, value: JSONValue) {
        #expect(Self.parse(text) == value)
    }

    @Test(
        "The parser decodes escapes",
        arguments: [
            (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u0041\u00e9\u20AC""#, "Aé€"),
            (#""\ud83d\ude00""#, "😀"), (#""\uD83D\uDE00""#, "😀"),
            (#""\u0000""#, "\u{0}"), (#""\ud800\udc00\udbff\udfff""#, "\u{10000}\u{10FFFF}"),
            ("\"é€😀/\u{7F}\"", "é€😀/\u{7F}"),
        ])
    func escapes(text: String, string: String) throws {
        guard case .string(let read)? = Self.parse(text) else {
            Issue.record("the parser refused \(text)")
            return
        }
        #expect(Array(read.unicodeScalars) == Array(string.unicodeScalars))
    }

    @Test(
        "Any other text is refused",
        arguments: [
            "", " ", "nul", "nulll", "True", "tru", "[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1]]",
            "{}{}", "1 1", "{\"a\"}", "{\"a\":}",
            "{\"a\":1,}", "{,}", "{a:1}", "{'a':1}", "{1:1}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "\"", "\"a", "\"\\",
            "\"\\\"", "\"\\x\"", "\"\\u\"", "\"\\u12\"",
            "\"\\u12g4\"", "\"\\u+123\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\ud800\\ud800\"",
            "\"\\ud800x\"", "\"\\ud800\\", "\"\\ud800\\u",
            "\"a\nb\"", "\"a\tb\"", "\"\u{0}\"", "\u{FEFF}{}", "\u{A0}1", "// x\n1", "[1]//", "NaN", "Infinity",
            "\u{0}",
        ])
    func refused(text: String) {
        #expect(Self.parse(text) == nil)
    }

    @Test(
        "Only integers from 0 to 2⁵³ − 1 are accepted, each in a single spelling",
        arguments: [
            "-1", "-0", "+1", "01", "00", "1.0", "1e3", "1E3", ".5", "9007199254740992", "9223372036854775807",
            "9223372036854775808",
            "18446744073709551616", "0x10", "1_0", "٣", String(repeating: "9", count: 10_000),
        ])
    func numbers(text: String) {
        #expect(Self.parse(text) == nil)
    }

    @Test(
        "A repeated member is refused, however its name is spelled",
        arguments: [
            #"{"a":1,"a":1}"#, #"{"a":1,"\u0061":2}"#, #"{"":1,"":2}"#, #"{"b":{"a":null,"a":null}}"#,
        ])
    func duplicates(text: String) {
        #expect(Self.parse(text) == nil)
    }

    @Test(
        "Bytes that are not UTF-8 are refused",
        arguments: [
            [0xFF], [0xC3], [0xC0, 0x80], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x80],
        ] as [[UInt8]])
    func notUTF8(bytes: [UInt8]) {
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse([0x22] + bytes + [0x22]) }
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(bytes) }
    }

    @Test("The nesting depth of arrays and objects is limited", arguments: [(32, true), (33, false), (100_000, false)])
    func depth(levels: Int, isRead: Bool) {
        let arrays = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        let objects = String(repeating: "{\"a\":", count: levels - 1) + "{}" + String(repeating: "}", count: levels - 1)
        #expect((Self.parse(arrays) != nil) == isRead)
        #expect((Self.parse(objects) != nil) == isRead)
        #expect(Self.parse(String(repeating: "[", count: levels)) == nil)
    }

    @Test("Random bytes and changed documents never trap, and parsed values are written in canonical form")
    func property() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("JSONParserTests.property: seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let pieces = [
            "{", "}", "[", "]", ":", ",", "\"", "\"a\"", "\"b\"", "1", "0", "true", "null", " ", "\\", "\\u00e9",
            "\\ud83d", "\\ude00", "é", "\u{0}", "-", "e",
        ]
        var accepted = 0
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                pieces.randomElement(using: &generator) ?? ""
            }.joined()
            guard let value = Self.parse(text) else { continue }
            accepted += 1
            #expect(try JSONParser.parse(value.canonical) == value, "\(text)")
        }
        #expect(accepted > 100)
    }
}
