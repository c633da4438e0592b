import MediaVault
import Testing
import VaultService

@testable import VaultCommand

@Suite("How the keys stand, for a person to read")
struct KeysSheetTests {
    private func document(_ act: String, isLocatorChanging: Bool = false) throws -> KeysDocument {
        try JSONText.read(
            from: Array(
                """
                {"current":3,"act":\(act),"locatorChanging":\(isLocatorChanging),"generations":[
                {"number":1,"created":1700000000,"state":"retired","backups":2,"resources":0,"bytes":0},
                {"number":2,"created":1710000000,"state":"active","backups":0,"resources":12,"bytes":3200000},
                {"number":3,"created":1720000000,"state":"current","backups":0,"resources":1,"bytes":5}]}
                """.utf8))
    }

    @Test("Each generation has a line, and what is left to do a sentence")
    func text() throws {
        #expect(
            try KeysSheet.text(document("null")) == """
                GENERATION  STATE    MADE        TITLES  BYTES   BACKUPS
                1           retired  2023-11-14  0       0 B     2
                2           active   2024-03-09  12      3.2 MB  0
                3           current  2024-07-03  1       5 B     0
                generation 2 is still needed by 12 titles, 3.2 MB: run keys rewrap

                """)
    }

    @Test("What works now, and what was broken off, is said")
    func remarks() throws {
        let remarks = try KeysSheet.remarks(document("\"keys reseal\"", isLocatorChanging: true))
        #expect(remarks.count == 3)
        #expect(remarks[1].contains("keys rotate --locator") && remarks[2] == "keys reseal works on the keys now")
    }

    @Test("What a retired generation shuts out is said once no older one is left")
    func cutOff() throws {
        let document = try document("null")
        #expect(KeysSheet.cutOff(by: document) == "an older copy of the keyring still opens what generation 2 wraps")
        let text = try JSONText.of(document).replacing("\"active\"", with: "\"retired\"")
        #expect(KeysSheet.cutOff(by: try JSONText.read(from: Array(text.utf8))) == Receipt.Act.retire.cutsOff)
    }

    @Test("Once nothing needs an older generation, it is said how it goes")
    func needless() throws {
        let text = try String(decoding: JSONText.bytes(of: document("null")), as: UTF8.self)
        let needless: KeysDocument = try JSONText.read(
            from: Array(text.replacing("\"resources\":12", with: "\"resources\":0").utf8))
        #expect(KeysSheet.remarks(needless) == ["nothing needs generation 2 any more: run keys retire 2"])
    }
}
