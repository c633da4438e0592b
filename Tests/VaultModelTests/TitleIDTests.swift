import Foundation
import Testing
import VaultModel

@Suite("Ids of titles")
struct TitleIDTests {
    @Test(
        "An id is the first 40 bits of a resource id in base32 (RFC 4648)",
        arguments: [
            ("0000000000", "aaaaaaaa"), ("ffffffffff", "77777777"), ("0000000001", "aaaaaaab"),
            // "fooba" of the vectors of RFC 4648 §10.
            ("666f6f6261", "mzxw6ytb"),
        ])
    func text(hex: String, text: String) throws {
        let resource = try #require(ResourceID(hex: hex + String(repeating: "ab", count: 27)))
        let id = TitleID(of: resource)
        #expect(id.description == text && TitleID(text) == id)
        #expect(id.resources.first == Array(resource.bytes.prefix(5)))
    }

    @Test(
        "What is not exactly the text of an id is none",
        arguments: ["", "aaaaaaa", "aaaaaaaaa", "AAAAAAAA", "aaaaaaa1", "aaaaaaa8", "aaaa aaa", "http://a", "éaaaaaa"])
    func others(text: String) {
        #expect(TitleID(text) == nil)
    }

    @Test("The range of resource ids ends with the last that begins with the id")
    func range() throws {
        let id = try #require(TitleID("aaaaaa77"))
        #expect(id.resources.first == [0, 0, 0, 3, 255])
        #expect(id.resources.last == [0, 0, 0, 3] + Array(repeating: 255, count: 28))
    }
}

@Suite("Times in UTC")
struct TimestampTests {
    @Test(
        "A time has one text, which is read back",
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (1_795_472_139, "2026-11-23T22:15:39Z"), (951_782_400, "2000-02-29T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ] as [(Int64, String)])
    func text(seconds: Int64, text: String) {
        #expect(Timestamp(seconds: seconds).description == text && Timestamp(text)?.seconds == seconds)
    }

    @Test("A time beyond four digits becomes the nearest that can be written")
    func bounds() {
        #expect(Timestamp(seconds: .max).description == "9999-12-31T23:59:59Z")
        #expect(Timestamp(seconds: .min).description == "0000-01-01T00:00:00Z")
    }

    @Test(
        "Other texts are no times",
        arguments: [
            "", "2026-11-23", "2026-11-23T22:15:39", "2026-11-23t22:15:39z", "2026-11-23 22:15:39Z",
            "2026-02-30T00:00:00Z", "2026-11-23T24:00:00Z", "2026-11-23T22:15:39+01:00",
        ])
    func others(text: String) {
        #expect(Timestamp(text) == nil)
    }
}
