import Foundation
import Testing

@testable import VaultModel

@Suite("Base64")
struct Base64Tests {
    @Test("Both alphabets decode what they encode, for every length", arguments: 0..<70)
    func roundTrip(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37 + 251) }
        #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        #expect(Base64.decodeFromURL(Base64.encodeForURL(bytes)) == bytes)
        #expect(
            Base64.encodeForURL(bytes).utf8.allSatisfy {
                $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "=")
            })
    }

    @Test(
        "The vectors of RFC 4648 §10 are encoded and decoded",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ])
    func vectors(text: String, encoded: String) {
        #expect(Base64.encode(Array(text.utf8)) == encoded)
        #expect(Base64.decode(encoded) == Array(text.utf8))
    }

    @Test(
        "Non-canonical Base64 is refused",
        arguments: [
            "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Z", "=", "Zm9v\n", " Zm9v", "Zm 9v", "Zm9v====", "Zm9*", "-_-_",
            "Zm9vé", "Zm9\u{212A}",
        ])
    func refused(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test(
        "Non-canonical Base64 for URLs is refused",
        arguments: ["Zg==", "Zh", "Z", "a+b/", "Zm9v\n", "Zm9v ", "%", "Zg=", "Zm9vé"])
    func refusedInURL(text: String) {
        #expect(Base64.decodeFromURL(text) == nil)
    }
}
