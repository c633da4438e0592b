import Testing
import VaultModel

@testable import VaultCrypto

@Suite("A keyring folds retired generations into ranges and has a maximum size")
struct FoldedGenerationsTests {
    private final class Box { var bytes: [UInt8] = [] }

    @discardableResult
    private func change<Result>(
        _ keyring: Keyring, _ file: inout [UInt8], _ edit: (inout KeyringEdit) throws -> Result
    ) throws -> Result {
        let (old, written) = (file, Box())
        let result = try keyring.change(reading: { old }, edit) { written.bytes = $0.bytes }
        file = written.bytes
        return result
    }

    @Test("After 20 000 rotations the keyring opens and is small, and no number is used twice")
    func manyRotations() throws {
        let fixture = try KeyringFixture()
        let keyring = try fixture.unlock()
        var file = fixture.file
        // One write applies the rotations of a whole year.
        for year in 0..<40 {
            try change(keyring, &file) { edit in
                for _ in 0..<500 {
                    let old = Int(edit.document.current)
                    _ = try edit.addGeneration(now: Int64(year))
                    try edit.retireGeneration(old)
                }
            }
        }
        #expect(file.count < 20_000)
        let again = try KeyringFixture(file: file).unlock()
        for keyring in [keyring, again] {
            #expect(keyring.currentGeneration == 20_001 && keyring.activeGenerations == [20_001])
            #expect(keyring.foldedGenerations == [1...19_872])
            #expect(keyring.generationRecords.map(\.number) == Array(19_873...20_001))
        }
        // A folded generation is already retired.
        try change(again, &file) { try $0.retireGeneration(17) }
        #expect(throws: VaultError.self) { try change(again, &file) { try $0.retireGeneration(20_002) } }
        #expect(try change(again, &file) { try $0.addGeneration(now: 1) } == 20_002)
    }

    @Test("Generations that are still needed stay between the ranges, and their keys open")
    func between() throws {
        let fixture = try KeyringFixture()
        let keyring = try fixture.unlock()
        var file = fixture.file
        try change(keyring, &file) { edit in
            for _ in 0..<400 { _ = try edit.addGeneration(now: 1) }
            edit.countBackup()
            for number in 1...400 where number % 100 != 0 { try edit.retireGeneration(number) }
        }
        let again = try KeyringFixture(file: file).unlock()
        #expect(again.activeGenerations == [100, 200, 300, 400, 401])
        #expect(again.foldedGenerations == [1...99, 101...199, 201...270])
        let document = try KeyringReader.unauthenticated(file)
        #expect(document.retired.map(\.backups) == [1, 1, 1])
        // Once it is retired and old enough, it joins the neighbouring ranges.
        try change(keyring, &file) { edit in
            try edit.retireGeneration(100)
            for _ in 0..<130 {
                let old = Int(edit.document.current)
                _ = try edit.addGeneration(now: 1)
                try edit.retireGeneration(old)
            }
        }
        #expect(keyring.foldedGenerations.first == 1...199)
    }

    @Test(
        "Ranges that overlap each other or an entry are damage",
        arguments: [
            ([(1, 3), (3, 5)], true), ([(5, 3)], true), ([(0, 3)], true), ([(2, 1 << 32)], true), ([(6, 8)], true),
            ([(1, 3), (4, 5)], false), ([(4, 5), (1, 2)], false),
        ] as [([(Int64, Int64)], Bool)])
    func damaged(_ ranges: [(Int64, Int64)], isDamage: Bool) throws {
        let fixture = try KeyringFixture().rewritten { document, root in
            (document.generations[0].number, document.current) = (7, 7)
            let key = try SecureRandom.key("test")
            document.generations[0].key = try SealedValue.seal(
                key, key: root,
                associatedData: KeyringDocument.associatedData(.generation, vaultID: document.vaultID, number: 7))
            document.retired = ranges.map { .init(first: $0.0, last: $0.1, backups: 0) }
        }
        #expect(fixture.trouble() == (isDamage ? .damagedKeyring : nil))
    }

    @Test("A full keyring has space for the maximum number of generations, and one more is refused")
    func most() throws {
        let fixture = try KeyringFixture()
        let keyring = try fixture.unlock()
        var file = fixture.file
        try change(keyring, &file) { edit in
            edit.document.receiptSequence = JSONValue.largestInteger
            for number in 2...16 {
                let label = String(repeating: "\"", count: 128)
                let slot = try edit.slot(Int64(number), label, .keyFile, .key(SecretKey(KeyringFixture.keyBytes)), nil)
                try edit.add(slot)
            }
            // Every second generation is retired, so no two of them can be folded into one range.
            let key = try SecureRandom.key("test")
            edit.document.generations = try (1...8192).map { number in
                .init(
                    number: number, created: JSONValue.largestInteger,
                    key: number % 2 == 0 ? try edit.seal(key, .generation, number) : nil,
                    backups: JSONValue.largestInteger)
            }
            edit.document.current = 8192
        }
        #expect(keyring.activeGenerations.count == KeyringDocument.maxActiveGenerations && file.count > 1 << 19)
        #expect(KeyringFixture(file: file).trouble() == nil)
        let full = #expect(throws: VaultError.self) { try change(keyring, &file) { try $0.addGeneration(now: 1) } }
        #expect(full?.code == .inUse && full?.hint == .rewrap)
        try change(keyring, &file) { try $0.retireGeneration(2) }
        #expect(try change(keyring, &file) { try $0.addGeneration(now: 1) } == 8193)
    }

    @Test("A number inside a range is not used again, even if every entry has a lower number")
    func numbers() throws {
        let fixture = try KeyringFixture().rewritten { document, _ in
            document.retired = [.init(first: 2, last: 9, backups: 0)]
        }
        let keyring = try fixture.unlock()
        var file = fixture.file
        #expect(try change(keyring, &file) { try $0.addGeneration(now: 1) } == 10)
    }

    @Test("A range records the largest backup count of its generations")
    func backups() throws {
        let fixture = try KeyringFixture()
        var file = fixture.file
        try change(try fixture.unlock(), &file) { edit in
            for number in 2...200 { #expect(try edit.addGeneration(now: 1) == number) }
            edit.document.generations[4].backups = 3
            for number in 1..<200 { try edit.retireGeneration(number) }
        }
        #expect(try KeyringReader.unauthenticated(file).retired.map(\.backups) == [3])
    }

    @Test("A keyring over 1 MiB from a version that did not fold opens, and the next write folds it")
    func pastTheBoundOfWriters() throws {
        let fixture = try KeyringFixture().rewritten { document, root in
            let old = (1..<20_000).map { number in
                KeyringDocument.Generation(number: number, created: KeyringFixture.now, key: nil, backups: 0)
            }
            (document.generations[0].number, document.current) = (20_000, 20_000)
            let key = try SecureRandom.key("test")
            document.generations[0].key = try SealedValue.seal(
                key, key: root,
                associatedData: KeyringDocument.associatedData(.generation, vaultID: document.vaultID, number: 20_000))
            document.generations = old + document.generations
        }
        #expect(fixture.file.count > KeyringDocument.maxBytes && fixture.file.count < KeyringDocument.maxBytesRead)
        let keyring = try fixture.unlock()
        #expect(keyring.activeGenerations == [20_000])
        var file = fixture.file
        #expect(try change(keyring, &file) { try $0.addGeneration(now: 1) } == 20_001)
        #expect(file.count < 20_000)
        let again = try KeyringFixture(file: file).unlock()
        #expect(again.activeGenerations == [20_000, 20_001] && again.foldedGenerations == [1...19_871])
    }

    @Test("A range keeps members that are unknown to this version")
    func unknown() throws {
        let fixture = try KeyringFixture().rewritten { document, _ in
            var range = KeyringDocument.RetiredRange(first: 2, last: 3, backups: 0)
            range.rest["later"] = .string("x")
            document.retired = [range]
        }
        let written = Box()
        try fixture.unlock().change(reading: { fixture.file }) {
            $0.revokeTokens()
        } writing: {
            written.bytes = $0.bytes
        }
        #expect(String(decoding: written.bytes, as: UTF8.self).contains(#""later":"x""#))
    }
}
