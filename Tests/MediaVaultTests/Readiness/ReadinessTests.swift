import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultStorage

@Suite("Whether titles are ready to play without the network", .timeLimit(.minutes(5)))
struct ReadinessTests {
    private static let length: Int64 = 20_000_000

    /// A vault with a pinned title that is held whole, verified a moment ago.
    private func readyVault() async throws -> (fixture: VaultFixture, vault: Vault) {
        let (fixture, vault) = try await VaultFixture.filled(ScriptedResource(length: Self.length))
        try await vault.titles.pin(MediaReference(fixture.url))
        for try await _ in vault.checks.verify() {}
        #expect(try await vault.checks.readiness().isReady, "premise")
        return (fixture, vault)
    }

    private func causes(
        _ vault: Vault, _ options: ReadinessOptions = ReadinessOptions()
    ) async throws -> [ReadinessCause] {
        let report = try await vault.checks.readiness(options)
        let causes = report.findings.map(\.cause) + report.unready.flatMap(\.findings).map(\.cause)
        #expect(report.isReady == causes.isEmpty)
        return causes
    }

    @Test("A pinned title that is held whole is ready, also for a reader, and the origin is not asked")
    func ready() async throws {
        let (fixture, vault) = try await readyVault()
        let asked = fixture.origin.exchanges.count
        let report = try await vault.checks.readiness()
        #expect(report.isReady && report.titles == 1 && report.bytes == Self.length)
        let reader = try await fixture.open(.reader, mode: .offline)
        #expect(try await reader.checks.readiness().isReady)
        #expect(fixture.origin.exchanges.count == asked)
        await reader.close()
        await vault.close()
    }

    @Test("Without a pinned title nothing is ready, and a downloaded title counts only if that is asked")
    func pins() async throws {
        let (fixture, vault) = try await readyVault()
        try await vault.titles.unpin(MediaReference(fixture.url))
        #expect(try await causes(vault) == [.nothingChecked])
        #expect(try await causes(vault, ReadinessOptions(hasDownloads: true)) == [])
        await vault.close()
    }

    @Test("A vault that was never verified is not ready")
    func unverified() async throws {
        let (fixture, vault) = try await VaultFixture.filled(ScriptedResource(length: Self.length))
        try await vault.titles.pin(MediaReference(fixture.url))
        #expect(try await causes(vault) == [.unverified])
        await vault.close()
    }

    @Test("A pinned title with a gap is named with its id, its name and what is missing")
    func gap() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: Self.length))
        let vault = try await fixture.open()
        _ = try await fixture.read(vault, .closed(first: 0, last: 999_999))
        try await vault.titles.pin(MediaReference(fixture.url))
        try await vault.titles.setName("A film", of: MediaReference(fixture.url))
        let (loader, lease) = try await vault.use(MediaReference(fixture.url))
        await loader.settle()
        withExtendedLifetime(lease) {}
        let report = try await vault.checks.readiness()
        let title = try #require(report.unready.first)
        #expect(title.name == "A film" && title.url == fixture.url.absoluteString)
        #expect(title.id == (try await vault.titles.summary(of: fixture.url)?.id) && title.id != nil)
        #expect(title.findings.map(\.cause) == [.incomplete])
        await vault.close()
    }

    @Test(
        "Files that are gone, cut short or changed at either end are found, without a verification",
        arguments: ["gone", "cut", "first block", "last block"])
    func files(fault: String) async throws {
        let (fixture, vault) = try await readyVault()
        let segments = try #require(try await vault.heldSegments(of: fixture.url))
        try #require(segments.count > 1)
        let segment = fault == "first block" ? segments[0] : segments[segments.count - 1]
        let path = fixture.place.folder + "/segments/\(segment.id.hex.prefix(2))/\(segment.id.hex)"
        switch fault {
        case "gone": try FileManager.default.removeItem(atPath: path)
        case "cut":
            let file = try FileHandle(forUpdating: URL(filePath: path))
            try file.truncate(atOffset: UInt64(segment.fileSize - 1))
            try file.close()
        default:
            let file = try FileHandle(forUpdating: URL(filePath: path))
            let offset = fault == "first block" ? segment.fileOffset(ofBlock: 0) : segment.fileSize - 1
            try file.seek(toOffset: UInt64(offset))
            let byte = try #require(try file.read(upToCount: 1)?.first)
            try file.seek(toOffset: UInt64(offset))
            try file.write(contentsOf: [byte ^ 1])
            try file.close()
        }
        #expect(try await causes(vault) == [["gone", "cut"].contains(fault) ? .damaged : .unopened])
        await vault.close()
    }

    @Test("A pinned title whose rows do not open is counted as not ready")
    func rows() async throws {
        let (_, vault) = try await readyVault()
        try vault.store.index.write { db in try db.execute(sql: "UPDATE resourceKey SET wrapped = zeroblob(60)") }
        let report = try await vault.checks.readiness()
        #expect(report.unready.map(\.findings).map { $0.map(\.cause) } == [[.unopened]])
        #expect(report.unready.first?.id == nil && report.unready.first?.url == nil)
        await vault.close()
    }

    @Test("A downloaded title that a size limit may evict is not ready, and a pinned one is")
    func limits() async throws {
        let (fixture, vault) = try await readyVault()
        try await vault.settings.setLimits(StorageLimits(maxSize: 1 << 40, evictsDownloads: true))
        #expect(try await causes(vault) == [])
        try await vault.titles.unpin(MediaReference(fixture.url))
        #expect(try await causes(vault, ReadinessOptions(hasDownloads: true)) == [.evictable])
        await vault.close()
    }

    @Test("A pinned title that is in the download queue is not ready")
    func queue() async throws {
        let (fixture, vault) = try await readyVault()
        _ = try await vault.queue.add([(MediaReference(fixture.url), DownloadOptions())], first: false)
        #expect(try await causes(vault) == [.queued])
        await vault.close()
    }

    @Test("A title of many files is ready once it was fetched whole, and not if a part is gone")
    func title() async throws {
        let (fixture, master) = try await TitleFixture.fixture()
        let vault = try await fixture.open()
        try await TitleFixture.download(master, into: vault)
        try await vault.titles.pin(MediaReference(master))
        for try await _ in vault.checks.verify() {}
        #expect(try await causes(vault) == [])
        // Some have one part, and one is a pack of many.
        let files = fixture.segmentFiles
        try #require(files.count > 2)
        for file in files {
            let elsewhere = file.deletingLastPathComponent().appending(path: "elsewhere")
            try FileManager.default.moveItem(at: file, to: elsewhere)
            #expect(try await causes(vault) == [.damaged], "\(file.lastPathComponent)")
            try FileManager.default.moveItem(at: elsewhere, to: file)
        }
        #expect(try await causes(vault) == [])
        await vault.close()
    }

    @Test("A manifest that was only played is not ready")
    func played() async throws {
        let (fixture, master) = try await TitleFixture.fixture()
        let vault = try await fixture.open()
        for try await _ in try await vault.read(master) {}
        let (loader, lease) = try await vault.use(MediaReference(master))
        await loader.settle()
        withExtendedLifetime(lease) {}
        try await vault.titles.pin(MediaReference(master))
        for try await _ in vault.checks.verify() {}
        #expect(try await causes(vault) == [.incomplete])
        await vault.close()
    }
}

extension Vault {
    /// The segments of a resource, in the order of their bytes.
    fileprivate func heldSegments(of url: MediaURL) async throws -> [SegmentDescription]? {
        try store.index.resources.find(await titles.id(of: MediaReference(url)))?.serving?.segments
    }
}
