import Foundation
import OriginTestSupport
import Testing
import VaultModel
import VaultTestSupport

@testable import MediaVault
@testable import VaultCache
@testable import VaultStorage

@Suite("An import beside other uses of the vault", .timeLimit(.minutes(5)))
struct ImportBesideTests {
    private static let length: Int64 = 20_000_000
    private static let media = PseudoRandomMedia(seed: 1, length: length)
    private static let unasked = ImportOptions(asksOrigin: false)

    private let fixture: VaultFixture
    private var reference: MediaReference { MediaReference(fixture.url) }

    init() async throws { fixture = try await VaultFixture(ScriptedResource(seed: 1, length: Self.length)) }

    /// A file that is read up to its middle, and to its end once it is released.
    private final class HaltingSource: ImportSource, Sendable {
        let length = ImportBesideTests.length
        let type: String? = "video/mp4"
        private let given = Locked<Int64>(0)
        private let end: Int64
        private let gate = AsyncStream.makeStream(of: Void.self)
        private let halt = AsyncStream.makeStream(of: Void.self)

        init(end: Int64 = ImportBesideTests.length) { self.end = end }

        func next() async throws -> [UInt8]? {
            let first = given.withLock { $0 }
            if first >= length / 2 {
                halt.continuation.finish()
                for await _ in gate.stream {}
            }
            guard first < end else { return nil }
            let range = first..<min(end, first + 1_000_000)
            given.withLock { $0 = range.upperBound }
            return ImportBesideTests.media.bytes(range)
        }

        func halted() async { for await _ in halt.stream {} }

        func goOn() { gate.continuation.finish() }
    }

    /// Begins an import; returns when it has reached the middle of the file.
    private func begin(
        _ source: HaltingSource, in vault: Vault, _ options: ImportOptions = unasked
    ) async -> Task<ImportReport, any Error> {
        let task = Task { [reference] in
            try await vault.transfer.importFile(source, as: reference, options: options) { _ in }
        }
        await source.halted()
        return task
    }

    /// Expects that an import has ended and left nothing behind.
    private func expectEnded(
        _ task: Task<ImportReport, any Error>, _ source: HaltingSource, _ code: VaultError.Code
    ) async throws {
        #expect(fixture.segmentFiles.isEmpty, "whatever the file is waited for")
        source.goOn()
        let error = await #expect(throws: VaultError.self) { try await task.value }
        #expect(error?.code == code && error?.message.contains("was ended") == true)
        #expect(fixture.segmentFiles.isEmpty)
    }

    private func expectNothing(in vault: Vault) async throws {
        #expect(try await vault.titles.summary(of: fixture.url) == nil)
        let totals = try vault.store.index.resources.totals()
        #expect(totals.resources == 0 && totals.segments == 0 && totals.pendingDeletions == 0)
    }

    @Test("Before the end nothing of it can be listed or played, here or by a reader, and then all of it")
    func unlisted() async throws {
        let (vault, source) = (try await fixture.open(mode: .offline), HaltingSource())
        let task = await begin(source, in: vault)
        let reader = try await fixture.open(.reader, mode: .offline)
        for vault in [vault, reader] {
            #expect(try await vault.titles.summary(of: fixture.url) == nil)
            #expect(try await vault.status().resources == 0)
            let error = await #expect(throws: VaultError.self) { try await fixture.read(vault) }
            #expect(error?.code == .notHeld)
        }
        await reader.close()
        // The work that is done once a minute, and when the disk has space again.
        Recovery(vault.store).finishPendingWork()
        source.goOn()
        _ = try await task.value
        #expect(try await fixture.read(vault) == 0..<Self.length)
        #expect(try vault.store.index.resources.totals().pendingDeletions == 0)
        await vault.close()
    }

    @Test("A change of the locator ends it, and leaves no title that cannot be removed")
    func locator() async throws {
        let (vault, source) = (try await fixture.open(), HaltingSource())
        let task = await begin(source, in: vault)
        _ = try await vault.keys.changeLocator()
        try await expectEnded(task, source, .removed)
        try await expectNothing(in: vault)
        let again = HaltingSource()
        again.goOn()
        _ = try await begin(again, in: vault).value
        #expect(try await fixture.read(vault) == 0..<Self.length)
        await vault.close()
    }

    @Test("Removing or shredding its title ends it", arguments: [true, false])
    func removed(isShredded: Bool) async throws {
        let (vault, source) = (try await fixture.open(), HaltingSource())
        let task = await begin(source, in: vault)
        let error =
            isShredded
            ? try await vault.keys.shred([reference]).titles.first?.error
            : await #expect(throws: VaultError.self) { try await vault.titles.remove(reference) }
        #expect(error?.code == .notHeld && error?.message.contains("was being imported") == true)
        try await expectEnded(task, source, .removed)
        try await expectNothing(in: vault)
        await vault.close()
    }

    @Test("Locking the vault ends it, however long the file is waited for")
    func locked() async throws {
        let (vault, source) = (try await fixture.open(), HaltingSource())
        let task = await begin(source, in: vault)
        await vault.lock()
        try await expectEnded(task, source, .closed)
        let next = try await fixture.open()
        try await expectNothing(in: next)
        await next.close()
    }

    @Test("Players get the origin's bytes, unstored, also across its end, and do not make it fail")
    func played() async throws {
        let (vault, source) = (try await fixture.open(), HaltingSource())
        let task = await begin(source, in: vault)
        #expect(try await fixture.read(vault, .closed(first: 0, last: 999_999)) == 0..<1_000_000)
        let reader = try await vault.read(fixture.url)
        var position: Int64 = 0
        while let bytes = try await reader.next() {
            try #require(Self.media.matches(bytes, at: position), "at \(position)")
            position += Int64(bytes.count)
            guard position > 1_000_000 else { continue }
            source.goOn()
            _ = try await task.value
        }
        #expect(position == Self.length)
        let sent = fixture.bytesSent
        #expect(try await fixture.read(vault, .closed(first: 0, last: 9_999_999)) == 0..<10_000_000)
        #expect(fixture.bytesSent - sent < 1_000_000, "samples only")
        await vault.close()
    }

    @Test("Once it has failed, what is played is stored again at once")
    func playedAfterwards() async throws {
        let (vault, source) = (try await fixture.open(), HaltingSource())
        let task = await begin(source, in: vault)
        let range = RequestedRange.closed(first: 0, last: 999_999)
        #expect(try await fixture.read(vault, range) == 0..<1_000_000)
        task.cancel()
        await #expect(throws: (any Error).self) { try await task.value }
        #expect(try await vault.titles.summary(of: fixture.url) == nil)
        #expect(try await fixture.read(vault, range) == 0..<1_000_000)
        let (loader, lease) = try await vault.use(reference)
        await loader.settle()
        withExtendedLifetime(lease) {}
        #expect(try await fixture.held(vault) == [0..<1_000_000])
        await vault.close()
    }

    @Test("A fetch of its title is refused with the reason, and nothing of that is stored")
    func fetched() async throws {
        let (vault, source) = (try await fixture.open(), HaltingSource())
        let task = await begin(source, in: vault)
        let error = await #expect(throws: VaultError.self) { for try await _ in vault.download(fixture.url) {} }
        #expect(error?.code == .inUse && error?.message.contains("being imported") == true)
        #expect(try await vault.titles.summary(of: fixture.url) == nil)
        source.goOn()
        _ = try await task.value
        for try await _ in vault.download(fixture.url) {}
        #expect(try await fixture.held(vault) == [0..<Self.length])
        await vault.close()
    }

    @Test("A second import of its title is refused at once; after the first has failed, it succeeds")
    func second() async throws {
        let (vault, source) = (try await fixture.open(), HaltingSource())
        let task = await begin(source, in: vault)
        let other = HaltingSource()
        other.goOn()
        let error = await #expect(throws: VaultError.self) {
            try await vault.transfer.importFile(other, as: reference, options: Self.unasked) { _ in }
        }
        #expect(error?.code == .inUse && error?.message.contains("imported already") == true)
        task.cancel()
        await #expect(throws: (any Error).self) { try await task.value }
        #expect(fixture.segmentFiles.isEmpty)
        let third = HaltingSource()
        third.goOn()
        _ = try await begin(third, in: vault).value
        #expect(try await fixture.read(vault) == 0..<Self.length)
        await vault.close()
    }

    @Test("A reseal waits for it, and gives its title a new key, too", arguments: [true, false])
    func resealed(isNamed: Bool) async throws {
        let (vault, source) = (try await fixture.open(), HaltingSource())
        let task = await begin(source, in: vault)
        let resealing = Task { [reference] in
            var report: ResealReport?
            for try await step in vault.keys.reseal(isNamed ? [reference] : []) { report = step.report }
            return report
        }
        try await Task.sleep(for: .milliseconds(300))
        source.goOn()
        _ = try await task.value
        let report = try await resealing.value
        #expect(report?.resources == 1 && report?.bytes == Self.length && report?.problems == 0)
        #expect(try await fixture.read(vault) == 0..<Self.length)
        await vault.close()
    }

    /// Opens the vault with a title that has lost all its bytes.
    private func emptied() async throws -> (Vault, NamedResource) {
        let vault = try await fixture.open()
        for try await _ in vault.download(fixture.url) {}
        try await vault.titles.setName("Mine", of: reference)
        let resource = try await vault.name(reference)
        for segment in try #require(try vault.store.index.resources.find(resource.id)?.serving?.segments) {
            try vault.store.segments.invalidate(segment, for: .missing)
        }
        vault.loaders.remove(resource.id)
        for file in fixture.segmentFiles { try FileManager.default.removeItem(at: file) }
        return (vault, resource)
    }

    @Test("A title that has lost its bytes keeps name and class if it fails, and gets the file's if it does not")
    func known() async throws {
        let (vault, resource) = try await emptied()
        let options = ImportOptions(name: "Other", isPinned: true, asksOrigin: false)
        let short = HaltingSource(end: Self.length - 1)
        short.goOn()
        await #expect(throws: VaultError.self) { try await begin(short, in: vault, options).value }
        let kept = try #require(try await vault.titles.summary(of: fixture.url))
        #expect(kept.name == "Mine" && kept.resourceClass == "download" && kept.held.isEmpty)
        let whole = HaltingSource()
        whole.goOn()
        let report = try await begin(whole, in: vault, options).value
        let summary = try #require(try await vault.titles.summary(of: fixture.url))
        #expect(summary.name == "Other" && summary.resourceClass == "pinned" && summary.isComplete)
        #expect(summary.id == report.id)
        #expect(try vault.store.index.resources.find(resource.id)?.keys.count == 1)
        #expect(try await fixture.read(vault) == 0..<Self.length)
        await vault.close()
        let reader = try await fixture.open(.reader, mode: .offline)
        #expect(try await fixture.read(reader) == 0..<Self.length)
        await reader.close()
    }

    @Test("A reseal of such a title waits, too, and no key of before stays")
    func knownResealed() async throws {
        let (vault, resource) = try await emptied()
        let source = HaltingSource()
        let task = await begin(source, in: vault)
        let resealing = Task { for try await _ in vault.keys.reseal() {} }
        try await Task.sleep(for: .milliseconds(300))
        #expect(try vault.store.index.resources.find(resource.id)?.keyNumber == 1)
        source.goOn()
        _ = try await task.value
        try await resealing.value
        let stored = try #require(try vault.store.index.resources.find(resource.id))
        #expect(stored.keys.count == 1 && stored.keyNumber > 2)
        #expect(try await fixture.read(vault) == 0..<Self.length)
        await vault.close()
    }

    @Test("A disk that is full in the middle leaves nothing, and the next import succeeds", arguments: [1, 40, 300])
    func fullDisk(write: Int) async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open()
        let (source, reference) = (HaltingSource(), MediaReference(fixture.url(1, Self.length)))
        source.goOn()
        fixture.disk.fail(
            .write, of: "/segments/", number: write, lasting: true,
            with: FileFailure(.noSpace, "pwrite: No space left on device"))
        let error = await #expect(throws: VaultError.self) {
            try await vault.transfer.importFile(source, as: reference, options: Self.unasked) { _ in }
        }
        #expect(error?.code == .diskFull)
        fixture.disk.mend()
        try await expectNothing(in: vault)
        #expect(try await vault.status().used == 0)
        let again = HaltingSource()
        again.goOn()
        _ = try await vault.transfer.importFile(again, as: reference, options: Self.unasked) { _ in }
        #expect(try await fixture.held(vault, 1, Self.length) == Self.length)
        #expect(try await vault.status().used == fixture.meter.total)
        await vault.close()
    }
}
