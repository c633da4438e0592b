import Foundation
import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultStorage

@Suite("Any process can report the progress of an interrupted key operation", .timeLimit(.minutes(2)))
struct UnfinishedActTests {
    private let length: Int64 = 20_000_000
    private var title: ScriptedResource { ScriptedResource(seed: 17, length: length) }

    @Test("A reseal reports its remaining titles and bytes until it is done")
    func reseal() async throws {
        let (fixture, vault) = try await VaultFixture.filled(title)
        for name in ["/second", "/third"] { for try await _ in vault.download(fixture.origin.url(name)) {} }
        #expect(try await vault.keys.report().reseal == nil)
        _ = try await vault.keys.rotate()
        for try await step in vault.keys.reseal(bytesPerSecond: 4_000_000) where step.bytes > 0 { break }
        #expect(try await vault.keys.report().reseal?.isDue == true)
        // The vault may resume without the test until it is closed.
        await vault.close()
        let reader = try await fixture.open(.reader)
        let report = try await reader.keys.report()
        let rest = try #require(report.reseal)
        #expect(rest.isDue && (1...3).contains(rest.resources) && (1..<(3 * length)).contains(rest.bytes))
        let older = report.generations[0]
        #expect(older.bytes == rest.bytes, "the bytes under older keys are the remaining bytes")
        #expect(older.resources == rest.resources && older.leaving == rest.resources)
        #expect(report.generations[1].resources == 3)
        await reader.close()
        let again = try await fixture.open()
        for try await _ in again.keys.reseal() {}
        let last = try await again.keys.report()
        #expect(last.reseal == nil && last.generations.map(\.resources) == [0, 3])
        await again.close()
    }

    @Test("Unfinished shreds are counted until the next owner finishes them")
    func shreds() async throws {
        let (fixture, vault) = try await VaultFixture.filled(title)
        let id = try await vault.name(MediaReference(fixture.url)).id
        #expect(try await vault.keys.report().shreds == 0)
        _ = try Shreds(vault.store).shred(id, isQuick: true, noting: vault.keys.environment.log)
        #expect(try await vault.keys.report().shreds == 1)
        await vault.close()
        let reader = try await fixture.open(.reader)
        #expect(try await reader.keys.report().shreds == 1)
        await reader.close()
        let again = try await fixture.open()
        _ = try await again.keys.shred([MediaReference(fixture.url)], quick: true)
        #expect(try await again.keys.report().shreds == 0)
        await again.close()
    }
}
