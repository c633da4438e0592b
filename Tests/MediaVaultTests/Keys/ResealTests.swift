import Foundation
import GRDB
import MediaVault
import OriginTestSupport
import Testing

@Suite("Resealing a vault that is in use", .timeLimit(.minutes(2)))
struct ResealTests {
    private func filled() async throws -> (VaultFixture, Vault) {
        let fixture = try await VaultFixture(ScriptedResource(seed: 11, length: 20_000_000))
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault) == 0..<20_000_000)
        return (fixture, vault)
    }

    @Test("Every segment gets a new file and a new key; its bytes stay the same, and nothing is fetched")
    func whole() async throws {
        let (fixture, vault) = try await filled()
        let before = Set(fixture.segmentFiles)
        let sent = fixture.bytesSent
        var last: ResealProgress?
        for try await step in vault.keys.reseal() { last = step }
        let report = try #require(last?.report)
        #expect(report.resources == 1 && report.bytes == 20_000_000 && report.problems == 0 && report.damage == 0)
        #expect(before.isDisjoint(with: fixture.segmentFiles) && fixture.segmentFiles.count == before.count)
        #expect(try await fixture.read(vault) == 0..<20_000_000)
        #expect(fixture.bytesSent == sent)
        let receipts = try await vault.keys.audit()
        #expect(receipts.isSound && receipts.receipts.map(\.act) == [.reseal] && receipts.receipts[0].resources == 1)
        await vault.close()
        let again = try await fixture.open(mode: .offline)
        #expect(try await fixture.read(again) == 0..<20_000_000)
        await again.close()
    }

    @Test("Readers in progress get every byte while their segments are resealed")
    func playing() async throws {
        let (fixture, vault) = try await filled()
        let reader = try await vault.read(fixture.url)
        var position: Int64 = 0
        for _ in 0..<3 {
            for _ in 0..<40 {
                let bytes = try #require(try await reader.next())
                #expect(fixture.media.matches(bytes, at: position))
                position += Int64(bytes.count)
            }
            for try await _ in vault.keys.reseal([MediaReference(fixture.url)]) {}
        }
        while let bytes = try await reader.next() {
            #expect(fixture.media.matches(bytes, at: position))
            position += Int64(bytes.count)
        }
        #expect(position == 20_000_000)
        #expect(try await vault.keys.audit().receipts.count == 3)
        await vault.close()
    }

    @Test("An interrupted reseal resumes and does not start again")
    func resumed() async throws {
        let (fixture, vault) = try await filled()
        // However late the first reseal is interrupted, this title remains.
        for try await _ in vault.download(fixture.origin.url("/other")) {}
        let first = Task {
            for try await step in vault.keys.reseal(bytesPerSecond: 400_000) where step.bytes > 0 { break }
        }
        try await first.value
        #expect(try await fixture.read(vault) == 0..<20_000_000)
        var last: ResealProgress?
        for try await step in vault.keys.reseal() { last = step }
        let report = try #require(last?.report)
        #expect((1...2).contains(report.resources) && report.bytes < 40_000_000 && report.bytes > 0)
        #expect(try await fixture.read(vault) == 0..<20_000_000)
        await vault.close()
    }

    @Test("A reseal that a new owner resumes yields to every key operation, and resumes afterwards")
    func givesWay() async throws {
        let (fixture, first) = try await filled()
        // Each turn reseals a title or two before it is interrupted, and some remain at the end.
        for number in 0..<8 { for try await _ in first.download(fixture.origin.url("/other-\(number)")) {} }
        for try await step in first.keys.reseal(bytesPerSecond: 1_000_000) where step.bytes > 0 { break }
        await first.close()
        let vault = try await fixture.open()
        for _ in 0..<2 {
            while try await vault.keys.report().act != .reseal { try await Task.sleep(for: .milliseconds(20)) }
            _ = try await vault.keys.rotate()
        }
        while try await vault.keys.report().act != .reseal { try await Task.sleep(for: .milliseconds(20)) }
        var last: ResealProgress?
        for try await step in vault.keys.reseal() { last = step }
        #expect((1...9).contains(last?.report?.resources ?? 0) && last?.report?.problems == 0)
        #expect(try await fixture.read(vault) == 0..<20_000_000)
        let receipts = try await vault.keys.audit().receipts.filter { $0.act == .reseal }
        #expect(receipts.map(\.resources) == [9], "titles resealed before the interruption are counted")
        await vault.close()
    }

    @Test("A title that is removed during a reseal is not counted as resealed")
    func removed() async throws {
        let (fixture, vault) = try await filled()
        var last: ResealProgress?
        for try await step in vault.keys.reseal(bytesPerSecond: 20_000_000) {
            if last == nil { _ = try await vault.titles.remove(MediaReference(fixture.url)) }
            last = step
        }
        #expect(last?.report?.resources == 0 && last?.report?.problems == 0)
        #expect(try await vault.keys.audit().receipts.map(\.resources) == [0])
        await vault.close()
    }

    @Test("A reseal ends despite damage that cannot be recorded, and reseals everything that is sound")
    func damageUnwritten() async throws {
        let fixture = try await VaultFixture(ScriptedResource(seed: 12, length: 20_000_000))
        let first = try await fixture.open()
        for number in Int64(0)..<66 {
            let start = number * 300_000
            let read = try await fixture.read(first, .closed(first: start, last: start + 9999))
            #expect(read == start..<(start + 10_000))
        }
        await first.close()
        let files = fixture.segmentFiles
        #expect(files.count == 66)
        for file in files.dropLast() {
            var bytes = try Data(contentsOf: file)
            bytes[200] ^= 1
            try bytes.write(to: file)
        }
        // Opens before the trigger exists, because an index with a trigger is refused.
        let vault = try await fixture.open(mode: .offline)
        let database = try DatabaseQueue(path: fixture.place.folder + "/index.sqlite")
        try await database.write { db in
            try db.execute(
                sql: "CREATE TRIGGER refuse BEFORE INSERT ON badBlock BEGIN SELECT RAISE(ABORT, 'no'); END")
        }
        try database.close()
        var last: ResealProgress?
        for try await step in vault.keys.reseal() { last = step }
        let report = try #require(last?.report)
        #expect(report.segments == 1 && report.damage == 65 && report.problems == 1 && report.resources == 0)
        await vault.close()
    }

    @Test("A reseal is refused for an unknown title, for a rate of zero, and for a reader")
    func refused() async throws {
        let (fixture, vault) = try await filled()
        let unknown = MediaReference(fixture.origin.url("/other"))
        for (reseal, code) in [
            (vault.keys.reseal([unknown]), VaultError.Code.notHeld),
            (vault.keys.reseal(bytesPerSecond: 0), .invalidArgument),
        ] {
            let error = await #expect(throws: VaultError.self) { for try await _ in reseal {} }
            #expect(error?.code == code)
        }
        await vault.close()
        let reader = try await fixture.open(.reader)
        let error = await #expect(throws: VaultError.self) { for try await _ in reader.keys.reseal() {} }
        #expect(error?.code == .owned)
        await reader.close()
    }
}
