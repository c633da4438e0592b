import Testing
import VaultModel

@Suite("Hex and identifiers")
struct HexTests {
    @Test("Every byte has one spelling and is read back")
    func everyByte() {
        for byte in UInt8.min...UInt8.max {
            let text = Hex.encode([byte])
            #expect(text.utf8.count == 2)
            #expect(text == text.lowercased())
            #expect(Hex.decode(text) == [byte])
        }
        #expect(Hex.encode([0x00, 0x0F, 0xA0, 0xFF]) == "000fa0ff")
        #expect(Hex.decode("") == [])
    }

    @Test(
        "Any other spelling is refused",
        arguments: ["0", "000", "0A", "FF", "0g", "g0", " 00", "00 ", "0x00", "٠٠", "０0", "-1", "+1"])
    func refused(text: String) {
        #expect(Hex.decode(text) == nil)
    }

    @Test("An identifier has an exact number of bytes", arguments: [0, 1, 15, 16, 17, 31, 32, 33])
    func identifierSizes(count: Int) {
        let bytes = Array(repeating: UInt8(0xAB), count: count)
        #expect((VaultID(bytes: bytes) != nil) == (count == 16))
        #expect((RepresentationID(bytes: bytes) != nil) == (count == 16))
        #expect((SegmentID(bytes: bytes) != nil) == (count == 16))
        #expect((ResourceID(bytes: bytes) != nil) == (count == 32))
        #expect((SegmentID(hex: Hex.encode(bytes)) != nil) == (count == 16))
    }

    @Test("An identifier is printed as it is read")
    func identifierText() throws {
        let text = "00112233445566778899aabbccddeeff"
        let id = try #require(SegmentID(hex: text))
        #expect(id.description == text)
        #expect(SegmentID(hex: text.uppercased()) == nil)
    }
}
