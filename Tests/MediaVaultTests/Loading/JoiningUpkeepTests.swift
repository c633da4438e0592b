import Foundation
import OriginTestSupport
import Synchronization
import Testing
import VaultModel
import VaultStorage
import VaultTestSupport

@testable import MediaVault
@testable import VaultCache

extension Vault {
    /// Joins all segments of a title that can be joined.
    func joinAll(of loader: ResourceLoader) async {
        while SegmentJoiner.needsJoining(loader, isResting: true) {
            let isFree = loader.joining.withLock { joining in
                guard !joining.isRunning else { return false }
                joining.begin(now: .now)
                return true
            }
            // The vault may already be joining in the background.
            guard isFree else {
                await loader.joining.settle()
                continue
            }
            await SegmentJoiner.joinAdjacentSegments(of: loader)
            if loader.joining.withLock(\.joinedNothing) { return }
        }
    }

    /// Returns whether a check finds no damage.
    func isSound() async throws -> Bool {
        var last: VerifyReport?
        for try await step in checks.verify() { last = step.report ?? last }
        return last?.isSound == true
    }

    /// Whether segments are being joined now.
    var isJoining: Bool { joiner.isRunning }

    /// The loaders of recently read titles.
    var loadersAtHand: [ResourceLoader] { loaders.all }
}

@Suite("Joining segments in the background", .timeLimit(.minutes(2)))
struct JoiningUpkeepTests {
    /// Returns a title held in `count` pieces of 40 000 bytes, too few to be joined while it is in use.
    private func pieces(_ count: Int64, of length: Int64) async throws -> (RoomFixture, Vault, ResourceLoader) {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open()
        try await hold(count, of: length, 1, fixture, vault)
        let loader = try #require(vault.loadersAtHand.first)
        #expect(try fixture.files == Int(count))
        return (fixture, vault, loader)
    }

    private func hold(
        _ count: Int64, of length: Int64, _ seed: UInt64, _ fixture: RoomFixture, _ vault: Vault
    ) async throws {
        for first in stride(from: 0, to: count * 40_000, by: 40_000) {
            try await fixture.play(vault, seed, length, .closed(first: first, last: first + 39_999))
        }
    }

    /// Lets the vault join idle titles, advancing the time by one second per turn.
    private func runPeriodicWork(_ vault: Vault, until isDone: () throws -> Bool) async throws {
        var now = ContinuousClock.now + Joining.rest
        while try !isDone() {
            now += .seconds(1)
            vault.joiner.join(now: now)
            for loader in vault.loadersAtHand { await loader.joining.settle() }
        }
    }

    @Test("Idle segments are joined, and no byte is fetched again")
    func upkeep() async throws {
        let (fixture, vault, _) = try await pieces(5, of: 200_000)
        try await runPeriodicWork(vault) { try fixture.files == 1 }
        fixture.origin.stop()
        try await fixture.play(vault, 1, 200_000)
        #expect(try await vault.isSound())
        await vault.close()
        let again = try await fixture.open()
        try await fixture.play(again, 1, 200_000)
        await again.close()
    }

    @Test("Readers of the owner and of a vault beside it get every byte while segments are joined")
    func readers() async throws {
        let (fixture, vault, loader) = try await pieces(14, of: 560_000)
        let beside = try await fixture.open(access: .reader)
        try await fixture.play(beside, 1, 560_000)
        fixture.origin.stop()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for reader in 0..<4 {
                group.addTask {
                    for _ in 0..<6 { try await fixture.play(reader == 0 ? beside : vault, 1, 560_000) }
                }
            }
            group.addTask { await vault.joinAll(of: loader) }
            try await group.waitForAll()
        }
        #expect(try fixture.files == 1)
        try await fixture.play(beside, 1, 560_000)
        await beside.close()
        await vault.close()
    }

    @Test("A title that is resealed and joined at the same time holds every byte under its new key")
    func besideReseal() async throws {
        let (fixture, vault, loader) = try await pieces(14, of: 560_000)
        async let joining: Void = vault.joinAll(of: loader)
        for try await _ in vault.keys.reseal() {}
        await joining
        fixture.origin.stop()
        try await fixture.play(vault, 1, 560_000)
        #expect(try await vault.isSound())
        #expect(try await fixture.held(vault, 1, 560_000) == 560_000)
        await vault.close()
    }

    @Test("Removing a title waits until its joining ends, and leaves no file")
    func removal() async throws {
        let (fixture, vault, loader) = try await pieces(5, of: 200_000)
        let (isJoining, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let isFirst = Atomic(true)
        fixture.disk.observe { call in
            guard call.operation == .create, isFirst.exchange(false, ordering: .relaxed) else { return }
            isJoining.signal()
            goOn.wait()
        }
        async let joining: Void = vault.joinAll(of: loader)
        await withCheckedContinuation { waiter in
            Thread.detachNewThread {
                isJoining.wait()
                waiter.resume()
            }
        }
        let isRemoved = Locked(false)
        async let removal: Int64 = {
            let bytes = try await vault.titles.remove(MediaReference(fixture.url(1, 200_000)))
            isRemoved.withLock { $0 = true }
            return bytes
        }()
        do {
            defer { goOn.signal() }
            while loader.joining.withLock({ $0.waiting.isEmpty }), !isRemoved.withLock(\.self) {
                try await Task.sleep(for: .milliseconds(1))
            }
            let isEarly = isRemoved.withLock(\.self)
            #expect(!isEarly, "removal waits until nothing writes the title")
        }
        await joining
        _ = try await removal
        #expect(try fixture.files == 0)
        await vault.close()
    }

    @Test("A segment that does not open does not keep other titles from being joined")
    func damaged() async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open()
        try await hold(3, of: 120_000, 1, fixture, vault)
        try FileManager.default.removeItem(at: try #require(fixture.segmentFiles.first))
        try await hold(3, of: 120_000, 2, fixture, vault)
        try await hold(3, of: 120_000, 3, fixture, vault)
        try await runPeriodicWork(vault) { try fixture.files == 4 }
        await vault.close()
    }

    @Test("Nothing is joined while players read at full speed, and joining follows afterwards")
    func fullSpeedRate() async throws {
        let (fixture, vault, _) = try await pieces(14, of: 560_000)
        // Each look at the counter finds more bytes opened than a player opens at full speed.
        let reading = Task {
            while !Task.isCancelled {
                vault.store.work.opened.add(JoiningPace.fullSpeedRate << 4, ordering: .relaxed)
                await Task.yield()
            }
        }
        defer { reading.cancel() }
        while vault.loaders.environment.playbackPriority.isPlayerWaiting { try await Task.sleep(for: .milliseconds(1)) }
        vault.joiner.join(now: .now)
        var now = ContinuousClock.now + Joining.rest
        for _ in 0..<20 {
            vault.store.work.opened.add(JoiningPace.fullSpeedRate, ordering: .relaxed)
            now += .seconds(1)
            vault.joiner.join(now: now)
            #expect(!vault.isJoining)
        }
        #expect(try fixture.files == 14)
        reading.cancel()
        _ = await reading.value
        try await runPeriodicWork(vault) { try fixture.files == 1 }
        await vault.close()
    }

    @Test("Nothing is joined while a player waits for bytes, and joining follows afterwards")
    func waiting() async throws {
        let (fixture, vault, _) = try await pieces(14, of: 560_000)
        try await vault.loaders.environment.playbackPriority.waiting(at: "http://origin.example") {
            vault.joiner.join(now: .now + Joining.rest + .seconds(1))
            #expect(!vault.isJoining)
        }
        try await runPeriodicWork(vault) { try fixture.files == 1 }
        await vault.close()
    }

    @Test("Bytes that joining itself opens do not count as a player's")
    func pace() {
        var pace = JoiningPace()
        let most = JoiningPace.fullSpeedRate
        var opened: Int64 = 1 << 40
        func isBusy(after more: Int64, own: Int64 = 0) -> Bool {
            opened += more
            pace.own = own
            return pace.isBusy(opened: opened)
        }
        let first = isBusy(after: 0)
        #expect(!first, "bytes opened before the first look do not count")
        let answers = [isBusy(after: most), isBusy(after: most - 1), isBusy(after: most, own: 1), isBusy(after: most)]
        #expect(answers == [true, false, false, true])
    }

    @Test("A reader beside an owner joins nothing")
    func beside() async throws {
        let (fixture, vault, _) = try await pieces(14, of: 560_000)
        let reader = try await fixture.open(access: .reader)
        try await fixture.play(reader, 1, 560_000)
        #expect(try SegmentJoiner.needsJoining(#require(reader.loadersAtHand.first), isResting: true))
        reader.joiner.join(now: .now + .seconds(60))
        #expect(!reader.isJoining)
        await reader.close()
        await vault.close()
    }
}

extension RoomFixture {
    /// The files of all segments.
    fileprivate var segmentFiles: [URL] {
        FileManager.default.enumerator(at: URL(filePath: place.folder + "/segments"), includingPropertiesForKeys: nil)?
            .compactMap { $0 as? URL }.filter { !$0.hasDirectoryPath } ?? []
    }

    /// The number of segment files.
    fileprivate var files: Int { get throws { segmentFiles.count } }
}
