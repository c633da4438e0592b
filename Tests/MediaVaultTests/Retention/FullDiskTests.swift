import OriginTestSupport
import Testing
import VaultModel
import VaultStorage
import VaultTestSupport

@testable import MediaVault

@Suite("A full disk", .timeLimit(.minutes(3)))
struct FullDiskTests {
    private static let full = FileFailure(.noSpace, "pwrite: No space left on device")

    @Test(
        "If the disk is full for one write, a played title is evicted, and no byte is lost",
        arguments: [1, 2, 3, 5, 9, 17, 28])
    func once(write: Int) async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open()
        try await fixture.play(vault, 1, 300_000)
        fixture.disk.fail(.write, of: "/segments/", number: write, with: Self.full)
        try await fixture.play(vault, 2, 900_000)
        fixture.disk.mend()
        try await fixture.play(vault, 2, 900_000)
        #expect(try await fixture.held(vault, 2, 900_000) == 900_000)
        #expect(try await fixture.held(vault, 1, 300_000) == nil)
        let status = try await vault.status()
        #expect(status.passedThrough == 0 || status.bytesFetched == 1_200_000 + status.passedThrough)
        #expect(status.used == fixture.meter.total)
        await vault.close()
    }

    @Test(
        "If the disk stays full, playback continues, nothing wrong is kept, and the vault recovers by itself",
        arguments: [1, 2, 3, 4, 7, 12, 20, 26])
    func forGood(write: Int) async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open()
        fixture.disk.fail(.write, of: "/segments/", number: write, lasting: true, with: Self.full)
        try await fixture.play(vault, 1, 900_000)
        let error = await #expect(throws: VaultError.self) { try await fixture.download(vault, 2, 400_000) }
        #expect(error?.code == .diskFull && error?.message.contains("bytes of") == true)
        try await fixture.play(vault, 3, 100_000)
        let passed = try await vault.status().passedThrough
        #expect(passed > 0)
        await fixture.later(vault, .zero)
        #expect(try await vault.status().storeFailure?.contains("no space left on the disk") == true)

        fixture.disk.mend()
        await fixture.later(vault, .seconds(4))
        try await fixture.download(vault, 2, 400_000)
        try await fixture.play(vault, 1, 900_000)
        try await fixture.play(vault, 3, 100_000)
        for (title, length) in [(UInt64(1), Int64(900_000)), (2, 400_000), (3, 100_000)] {
            #expect(try await fixture.held(vault, title, length) == length, "title \(title)")
        }
        await fixture.later(vault, .seconds(20))
        await fixture.later(vault, .seconds(30))
        let status = try await vault.status()
        #expect(status.storeFailure == nil && status.used == fixture.meter.total)
        await vault.close()
        let again = try await fixture.open()
        #expect(try await again.status().used == fixture.meter.total)
        fixture.origin.stop()
        try await fixture.play(again, 1, 900_000)
        await again.close()
    }

    @Test("Space that returns in the middle of a title is used for the rest of it")
    func returns() async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open()
        fixture.disk.fail(.write, of: "/segments/", number: 4, lasting: true, with: Self.full)
        let reader = try await vault.read(fixture.url(1, 2_000_000))
        var position: Int64 = 0
        let media = RoomFixture.title(1, 2_000_000).media
        func take(to end: Int64) async throws {
            while position < end, let bytes = try await reader.next() {
                #expect(media.matches(bytes, at: position))
                position += Int64(bytes.count)
            }
        }
        try await take(to: 600_000)
        // The sealer is a little behind the player.
        while reader.bypass == nil { try await Task.sleep(for: .milliseconds(5)) }
        #expect(reader.bypass == .diskFull)
        await fixture.later(vault, .zero)
        fixture.disk.mend()
        await fixture.later(vault, .seconds(4))
        #expect(reader.bypass == nil)
        try await take(to: 2_000_000)
        let status = try await vault.status()
        await vault.close()
        let again = try await fixture.open(access: .reader)
        let held = try #require(try await fixture.held(again, 1, 2_000_000))
        #expect(status.bytesFetched == 2_000_000 && held == 2_000_000 - status.passedThrough && held > 1_000_000)
        await again.close()
    }

    @Test("Nothing is written to a disk that reports no free space until it reports some")
    func noFreeBytes() async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open()
        fixture.disk.fail(.write, of: "/segments/", lasting: true, with: Self.full)
        fixture.disk.claimFree(0)
        let reader = try await vault.read(fixture.url(1, 2_000_000))
        _ = try await reader.next()
        var position = 0
        while position < 600_000, let bytes = try await reader.next() { position += bytes.count }
        while reader.bypass == nil { try await Task.sleep(for: .milliseconds(5)) }
        let writes = fixture.disk.count(.write, of: "/segments/")
        await fixture.later(vault, .zero)
        for second in 1..<20 { await fixture.later(vault, .seconds(second)) }
        #expect(fixture.disk.count(.write, of: "/segments/") == writes)
        fixture.disk.mend()
        fixture.disk.claimFree(1 << 30)
        for second in 20..<25 { await fixture.later(vault, .seconds(second)) }
        #expect(reader.bypass == nil)
        reader.cancel()
        await vault.close()
    }

    @Test("A sync that fails for lack of space loses only bytes that were not durable", arguments: 1...3)
    func syncs(number: Int) async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open()
        fixture.disk.fail(.synchronize, of: "/segments/", number: number, with: Self.full)
        for title in UInt64(1)...3 { try await fixture.play(vault, title, 200_000) }
        await fixture.later(vault, .zero)
        await fixture.later(vault, .seconds(4))
        for title in UInt64(1)...3 {
            try await fixture.play(vault, title, 200_000)
            #expect(try await fixture.held(vault, title, 200_000) == 200_000)
        }
        #expect(try await vault.status().used == fixture.meter.total)
        await vault.close()
    }
}
