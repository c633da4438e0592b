import MediaVault
import Testing
import VaultService

@testable import VaultCommand

@Suite("The state of the keys as text")
struct KeysTextTests {
    private func document(
        _ act: String, isLocatorChanging: Bool = false, reseal: String = "null", shreds: Int = 0, leaving: Int = 0
    ) throws -> KeysDocument {
        try JSONText.read(
            from: Array(
                """
                {"current":3,"act":\(act),"locatorChanging":\(isLocatorChanging),
                "reseal":\(reseal),"shreds":\(shreds),"folded":[],"generations":[
                {"number":1,"created":"2023-11-14T22:13:20Z","state":"retired","backups":2,"records":0,"resources":0,"titles":0,"bytes":0,"leaving":0},
                {"number":2,"created":"2024-03-09T16:00:00Z","state":"active","backups":0,"records":0,"resources":12,"titles":12,"bytes":3200000,
                "leaving":\(leaving)},
                {"number":3,"created":"2024-07-03T09:46:40Z","state":"current","backups":0,"records":2,"resources":1,"titles":1,"bytes":5,"leaving":0}]}
                """.utf8))
    }

    @Test("Each generation has a line, and each remaining step a sentence")
    func text() throws {
        #expect(
            try KeysText.text(document("null")) == """
                GENERATION  STATE    CREATED     TITLES  BYTES   BACKUPS
                1           retired  2023-11-14  0       0 B     2
                2           active   2024-03-09  12      3.2 MB  0
                3           current  2024-07-03  1       5 B     0
                generation 2 is still needed by 12 titles (3.2 MB): run keys rewrap

                """)
    }

    @Test("A runbook names each generation that it retires once, and none that was retired before")
    func runbook() throws {
        let now = try document("null")
        #expect(RunbookText.generations(now).map { $0.prefix(12) } == ["generation 2", "generation 3"])
        let text = try JSONText.of(now).replacing(#""state":"retired""#, with: #""state":"active""#)
        let before = try JSONText.read(KeysDocument.self, from: Array(text.utf8))
        #expect(RunbookText.generations(now, since: before).first?.hasPrefix("generation 1: retired") == true)
    }

    @Test("Generations retired long ago share a line, and a warning comes long before the keyring is full")
    func many() throws {
        func sheet(_ active: Int) throws -> KeysDocument {
            let generations = (1...active).map { number in
                """
                {"number":\(number + 9),"created":"2023-11-14T22:13:20Z","state":"\(number == active ? "current" : "active")",
                "backups":0,"records":2,"resources":1,"titles":1,"bytes":1,"leaving":0}
                """
            }
            return try JSONText.read(
                from: Array(
                    """
                    {"current":\(active + 9),"act":null,"locatorChanging":false,"reseal":null,"shreds":0,
                    "folded":[{"first":1,"last":9}],"generations":[\(generations.joined(separator: ","))]}
                    """.utf8))
        }
        let lines = try KeysText.text(sheet(2)).split(separator: "\n")
        #expect(lines[1].split(separator: " ").prefix(2) == ["1-9", "retired"])
        let crowd = KeyReport.most / 16
        #expect(try KeysText.remarks(sheet(crowd - 1)).allSatisfy { !$0.contains("can have at most") })
        #expect(try KeysText.remarks(sheet(crowd)).contains { $0.contains("\(crowd) generations") })
    }

    @Test("The text shows the running operation and the interrupted one")
    func remarks() throws {
        let remarks = try KeysText.remarks(document("\"keys reseal\"", isLocatorChanging: true))
        #expect(remarks.count == 3)
        #expect(remarks[1].contains("keys rotate --locator") && remarks[2] == "keys reseal is running")
    }

    @Test("The text says what a retired generation shuts out only if no older generation remains")
    func cutOff() throws {
        let document = try document("null")
        #expect(KeysText.cutOff(by: document) == "an older copy of the keyring still opens what generation 2 wraps")
        let text = try JSONText.of(document).replacing("\"active\"", with: "\"retired\"")
        #expect(KeysText.cutOff(by: try JSONText.read(from: Array(text.utf8))) == Receipt.Act.retire.cutsOff)
    }

    @Test("If no segment needs an older generation, the text names the command that retires it")
    func needless() throws {
        let text = try String(decoding: JSONText.bytes(of: document("null")), as: UTF8.self)
        let needless: KeysDocument = try JSONText.read(
            from: Array(text.replacing("\"resources\":12", with: "\"resources\":0").utf8))
        #expect(KeysText.remarks(needless) == ["nothing needs generation 2 any more: run keys retire 2"])
    }

    @Test("The text names the command that finishes a reseal or a shred, unless it is running")
    func unfinished() throws {
        let reseal = #"{"resources":3,"bytes":1200000000,"due":true}"#
        let goesOn = ": the service continues it at its next start at the latest; to continue now, run the same "
        #expect(
            try KeysText.remarks(document("null", reseal: reseal, shreds: 2)).dropFirst() == [
                "the reseal of 3 titles (1.2 GB) is not finished\(goesOn)keys reseal again",
                "the shred of 2 titles is not finished\(goesOn)shred again",
            ])
        #expect(
            try KeysText.remarks(document("\"keys reseal\"", reseal: reseal)).dropFirst() == [
                "the reseal of 3 titles (1.2 GB) is not finished", "keys reseal is running",
            ])
        #expect(
            try KeysText.remarks(document("\"shred\"", shreds: 2)).dropFirst() == [
                "the shred of 2 titles is not finished", "shred is running",
            ])
        #expect(
            try KeysText.remarks(
                document("null", reseal: reseal.replacing("true", with: "false"))
            ).last
                == "3 titles (1.2 GB) keep an older key that a reseal could not free: run verify, then keys reseal for "
                + "them")
    }

    @Test(
        "A generation that a reseal frees is not listed for a rewrap, unless other segments need it",
        arguments: [11, 12])
    func leaving(_ leaving: Int) throws {
        let remark = try KeysText.remarks(document("null", leaving: leaving))[0]
        let end = leaving == 12 ? "wait for their reseal to finish" : "run keys rewrap"
        #expect(remark == "generation 2 is still needed by 12 titles (3.2 MB): \(end)")
    }
}
