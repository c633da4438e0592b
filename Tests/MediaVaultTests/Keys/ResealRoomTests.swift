import MediaVault
import OriginTestSupport
import Testing
import VaultModel
import VaultStorage
import VaultTestSupport

@Suite("Resealing with little free space", .timeLimit(.minutes(2)))
struct ResealRoomTests {
    private static let length: Int64 = 50_000_000

    /// Returns a vault that holds a title in six segments, and the disk size of the largest segment.
    private func filled() async throws -> (RoomFixture, Vault, Int64) {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open()
        try await fixture.download(vault, 1, Self.length)
        let block = Int64(VaultStore.blockSize)
        let blocks = SegmentDescription.maxBytes / block
        let overhead = SegmentDescription.headerByteCount + Int(blocks) * SegmentDescription.tagByteCount
        return (fixture, vault, SegmentDescription.diskSize(ofFile: SegmentDescription.maxBytes + Int64(overhead)))
    }

    private func reseal(_ vault: Vault, _ fixture: RoomFixture) async throws -> ResealReport? {
        var last: ResealProgress?
        for try await step in vault.keys.reseal([MediaReference(fixture.url(1, Self.length))]) { last = step }
        return last?.report
    }

    @Test("Space for one segment is enough: segments refused while another is sealed follow one by one")
    func one() async throws {
        let (fixture, vault, segment) = try await filled()
        let limit = fixture.meter.total + segment
        fixture.meter.limit(to: limit)
        let report = try await reseal(vault, fixture)
        #expect(report?.resources == 1 && report?.bytes == Self.length && report?.problems == 0)
        #expect(fixture.meter.refusals > 0, "premise: there is no space for two segments at a time")
        #expect(fixture.meter.most <= limit && fixture.meter.total == limit - segment)
        fixture.origin.stop()
        try await fixture.play(vault, 1, Self.length)
        await vault.close()
    }

    @Test("With less space the disk is full, held bytes still play, and the reseal resumes when space returns")
    func less() async throws {
        let (fixture, vault, segment) = try await filled()
        let held = fixture.meter.total
        fixture.meter.limit(to: held + segment - 1)
        let error = await #expect(throws: VaultError.self) { try await reseal(vault, fixture) }
        #expect(error?.code == .diskFull)
        #expect(fixture.meter.total == held, "unfinished segments use no space")
        fixture.origin.stop()
        try await fixture.play(vault, 1, Self.length)
        fixture.meter.limit(to: held + segment)
        let report = try await reseal(vault, fixture)
        #expect(report?.resources == 1 && report?.problems == 0 && fixture.meter.total == held)
        try await fixture.play(vault, 1, Self.length)
        #expect(
            try await vault.keys.audit().receipts.map(\.act) == [.reseal], "one receipt, after the reseal was complete")
        await vault.close()
    }

    @Test("If there is no space for even one segment, a title that was only played is evicted")
    func played() async throws {
        let (fixture, vault, segment) = try await filled()
        try await fixture.play(vault, 2, 300_000)
        fixture.meter.limit(to: fixture.meter.total + segment - 200_000)
        let report = try await reseal(vault, fixture)
        #expect(report?.resources == 1 && report?.bytes == Self.length)
        #expect(try await fixture.held(vault, 2, 300_000) == nil)
        try await fixture.play(vault, 1, Self.length)
        await vault.close()
    }
}
