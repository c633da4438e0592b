import Testing

@testable import VaultModel

@Suite("Canonical JSON")
struct CanonicalJSONTests {
    private static func canonical(_ text: String) throws -> String {
        String(decoding: try JSONParser.parse(Array(text.utf8)).canonical, as: UTF8.self)
    }

    @Test("Members are sorted by UTF-16 code units, a surrogate pair before U+FB33 (RFC 8785 §3.2.3)")
    func sorting() throws {
        let text = #"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#
        #expect(
            try Self.canonical(text)
                == "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{FB33}\":3}")
    }

    @Test("Strings are written as RFC 8785 §3.2.2.2 requires")
    func strings() throws {
        #expect(try Self.canonical(#""\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/""#) == #""€$\u000f\nA'B\"\\\\\"/""#)
    }

    @Test("Every control character has exactly one escape, and no other character is escaped")
    func escapes() throws {
        for code in UInt8(0)...0x7F {
            let written = String(decoding: JSONValue.string(String(Unicode.Scalar(code))).canonical, as: UTF8.self)
            let expected: String =
                switch code {
                case 0x22: #"\""#
                case 0x5C: #"\\"#
                case 0x08: #"\b"#
                case 0x09: #"\t"#
                case 0x0A: #"\n"#
                case 0x0C: #"\f"#
                case 0x0D: #"\r"#
                case ..<0x10: #"\u000"# + String(code, radix: 16)
                case ..<0x20: #"\u00"# + String(code, radix: 16)
                default: String(Unicode.Scalar(code))
                }
            #expect(written == "\"\(expected)\"")
        }
    }

    @Test("Composed and decomposed text keep their bytes")
    func normalForms() throws {
        #expect(JSONValue.string("e\u{301}").canonical == [0x22, 0x65, 0xCC, 0x81, 0x22])
        #expect(JSONValue.string("\u{E9}").canonical == [0x22, 0xC3, 0xA9, 0x22])
        #expect(JSONValue.string("\r\n").canonical == Array(#""\r\n""#.utf8))
    }

    @Test(
        "White space and member order of the input do not change the output",
        arguments: [
            (" { \"b\" : 1 , \"a\" : [ 1 , 2 ] } ", #"{"a":[1,2],"b":1}"#),
            (#"{"aa":1,"a":2,"":3}"#, #"{"":3,"a":2,"aa":1}"#),
            (#"{"B":1,"a":2,"A":3}"#, #"{"A":3,"B":1,"a":2}"#), ("[ ]", "[]"), ("{\n}", "{}"),
            ("[null,true,false,0]", "[null,true,false,0]"),
            (#"{"x":{"b":{},"a":[]}}"#, #"{"x":{"a":[],"b":{}}}"#),
        ])
    func order(text: String, expected: String) throws {
        #expect(try Self.canonical(text) == expected)
        #expect(try Self.canonical(expected) == expected)
    }

    @Test("Typed access names the member that is missing or has the wrong type")
    func typedAccess() throws {
        let object = JSONObject([
            "s": .string("x"), "i": .integer(5), "b": .bool(true), "n": .null, "a": .array([.integer(1)]),
        ])
        #expect(try object.string("s") == "x")
        #expect(try object.integer("i") == 5)
        #expect(try object.bool("b"))
        #expect(try object.optionalString("n") == nil)
        #expect(try object.optionalString("absent") == nil)
        #expect(try object.optionalInteger("i") == 5)
        func name(_ read: () throws -> Void) -> String? {
            do {
                try read()
                return nil
            } catch { return (error as? JSONObject.MemberFailure)?.name }
        }
        #expect(name { _ = try object.string("i") } == "i")
        #expect(name { _ = try object.string("absent") } == "absent")
        #expect(name { _ = try object.integer("s") } == "s")
        #expect(name { _ = try object.bool("i") } == "i")
        #expect(name { _ = try object.optionalString("i") } == "i")
        #expect(name { _ = try object.optionalInteger("s") } == "s")
        #expect(name { _ = try object.objects("a") } == "a")
        #expect(name { _ = try object.objects("n") } == "n")
        #expect(name { _ = try object.base64("s") } == "s")
    }
}
