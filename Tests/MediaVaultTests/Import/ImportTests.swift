import Foundation
import OriginTestSupport
import Testing
import VaultModel
import VaultTestSupport

@testable import MediaVault
@testable import VaultCache
@testable import VaultStorage

@Suite("Importing a file that is already here", .timeLimit(.minutes(5)))
struct ImportTests {
    /// Three segments, the last one short.
    private static let length: Int64 = 20_000_000
    private static let media = PseudoRandomMedia(seed: 1, length: length)

    private let fixture: VaultFixture
    private let folder: TemporaryFolder

    init() async throws {
        fixture = try await VaultFixture(ScriptedResource(seed: 1, length: Self.length))
        folder = try TemporaryFolder()
    }

    /// Writes a file of media; returns its path.
    private func file(_ media: PseudoRandomMedia = media, named name: String = "film.mp4") throws -> String {
        let path = folder.path + "/" + name
        try Data(media.bytes(0..<media.length)).write(to: URL(filePath: path))
        return path
    }

    private func imported(
        _ path: String, into vault: Vault, _ options: ImportOptions = ImportOptions()
    ) async throws -> ImportReport {
        var report: ImportReport?
        for try await step in vault.transfer.importFile(at: path, as: fixture.url, options: options) {
            report = step.report
        }
        return try #require(report)
    }

    private static let unasked = ImportOptions(asksOrigin: false)

    /// Checks that a failed import left nothing behind, not even for the next owner.
    private func expectNothing(in vault: Vault) async throws {
        #expect(try await vault.titles.summary(of: fixture.url) == nil)
        #expect(try await vault.status().resources == 0)
        #expect(fixture.segmentFiles.isEmpty)
        #expect(try vault.store.index.resources.totals().pendingDeletions == 0)
    }

    @Test("A file that the origin has, too, becomes a copy of the origin's version, and little of it is fetched")
    func same() async throws {
        let vault = try await fixture.open()
        let report = try await imported(file(), into: vault, ImportOptions(name: "A film", isPinned: true))
        #expect(report.origin == .same && report.bytes == Self.length && report.type == "video/mp4")
        let summary = try #require(try await vault.titles.summary(of: fixture.url))
        #expect(summary.isComplete && summary.etag == "\"v1\"" && summary.name == "A film" && summary.id == report.id)
        #expect(summary.resourceClass == "pinned")
        #expect(fixture.bytesSent <= OriginComparison.sampleBytes * OriginComparison.sampleCount)
        let asked = fixture.origin.exchanges.count
        #expect(try await fixture.read(vault) == 0..<Self.length)
        #expect(fixture.origin.exchanges.count == asked, "it is fresh")
        #expect(try await vault.status().bytesFetched == 0)
        await vault.close()
        // A gap in a copy is filled from the origin only if the version is the same.
        let reader = try await fixture.open(.reader, mode: .offline)
        #expect(try await fixture.read(reader) == 0..<Self.length)
        await reader.close()
    }

    @Test(
        "A file that the origin has otherwise is refused, and nothing of it stays",
        arguments: [(2, length), (1, length + 1), (1, length - 1)] as [(UInt64, Int64)])
    func different(seed: UInt64, length: Int64) async throws {
        let path = try file(PseudoRandomMedia(seed: seed, length: length))
        let vault = try await fixture.open()
        let error = await #expect(throws: VaultError.self) { try await imported(path, into: vault) }
        #expect(error?.code == .inUse && error?.message.contains("is not what") == true)
        try await expectNothing(in: vault)
        await vault.close()
    }

    @Test("If the origin refuses, nothing is stored, and the remedy is not to ask it")
    func refused() async throws {
        fixture.origin.answer { _ in ScriptedAnswer(404, fields: ["Content-Length": "0"]) }
        let (path, vault) = (try file(), try await fixture.open())
        let error = await #expect(throws: VaultError.self) { try await imported(path, into: vault) }
        #expect(error?.code == .refused && error?.hint == .importUnasked && error?.originStatus == 404)
        #expect(error?.message.hasPrefix("the origin refused \(fixture.url) (HTTP 404), so") == true)
        try await expectNothing(in: vault)
        #expect(try await imported(path, into: vault, Self.unasked).origin == .unasked)
        await vault.close()
    }

    @Test("An origin that is not reached does not hinder an import, and the title plays offline")
    func unreached() async throws {
        let (path, vault) = (try file(), try await fixture.open())
        fixture.origin.stop()
        #expect(try await imported(path, into: vault).origin == .unreached)
        #expect(try await fixture.read(vault) == 0..<Self.length)
        #expect(try await vault.titles.summary(of: fixture.url)?.etag == nil)
        await vault.close()
    }

    @Test("Once the origin is reached and has the same, the title becomes a copy of its version")
    func adopted() async throws {
        let vault = try await fixture.open()
        _ = try await imported(file(), into: vault, Self.unasked)
        #expect(fixture.origin.exchanges.isEmpty, "premise")
        #expect(try await fixture.read(vault) == 0..<Self.length)
        #expect(try await vault.titles.summary(of: fixture.url)?.etag == "\"v1\"")
        #expect(fixture.bytesSent <= OriginComparison.sampleBytes * OriginComparison.sampleCount)
        await vault.close()
    }

    @Test(
        "Once the origin is reached and has another version, that one is given whole: bytes of both are never mixed",
        arguments: ["\"v1\"", nil])
    func replaced(entityTag: String?) async throws {
        let other = ScriptedResource(seed: 2, length: Self.length, entityTag: entityTag)
        fixture.origin.answer { other.answer(to: $0) }
        let vault = try await fixture.open()
        _ = try await imported(file(), into: vault, Self.unasked)
        for range in [RequestedRange.closed(first: 9_000_000, last: 9_999_999), .whole] {
            let reader = try await vault.read(fixture.url, range: range)
            var position = reader.range?.lowerBound ?? 0
            while let bytes = try await reader.next() {
                try #require(other.media.matches(bytes, at: position), "at \(position)")
                position += Int64(bytes.count)
            }
        }
        await vault.close()
    }

    @Test("A gap of a title that was imported unasked is never filled, also if its host is declared immutable")
    func gap() async throws {
        let other = ScriptedResource(seed: 2, length: Self.length, entityTag: nil)
        fixture.origin.answer { other.answer(to: $0) }
        let vault = try await fixture.open(mode: .preferVault)
        var policy = KeyPolicy()
        try policy.setImmutable(fixture.url.host)
        try await vault.settings.setKeyPolicy(policy)
        _ = try await imported(file(), into: vault, Self.unasked)
        let resource = try await vault.name(MediaReference(fixture.url))
        let segment = try #require(
            try vault.store.index.resources.find(resource.id)?.serving?.segments.dropFirst().first)
        try vault.store.segments.invalidate(segment, for: .missing)
        vault.loaders.remove(resource.id)
        let reader = try await vault.read(fixture.url)
        var position: Int64 = 0
        while let bytes = try await reader.next() {
            try #require(other.media.matches(bytes, at: position), "at \(position)")
            position += Int64(bytes.count)
        }
        #expect(position == Self.length)
        await vault.close()
    }

    @Test("A title of which bytes are held is not replaced")
    func held() async throws {
        let (path, vault) = (try file(), try await fixture.open())
        _ = try await fixture.read(vault, .closed(first: 0, last: 99_999))
        let (loader, lease) = try await vault.use(MediaReference(fixture.url))
        await loader.settle()
        withExtendedLifetime(lease) {}
        let before = try await fixture.held(vault)
        let error = await #expect(throws: VaultError.self) { try await imported(path, into: vault) }
        #expect(error?.code == .inUse && error?.message.contains("already holds") == true)
        #expect(try await fixture.held(vault) == before && !before.isEmpty)
        await vault.close()
    }

    /// A file that must not be read.
    private final class Unread: ImportSource, Sendable {
        let type: String?
        let length: Int64 = 5000

        init(type: String? = "video/mp4") { self.type = type }

        func next() async throws -> [UInt8]? {
            Issue.record("the file was read")
            return nil
        }
    }

    @Test("What can be refused without the file is refused before it is read, and a whole title is said to be whole")
    func refusedUnread() async throws {
        let (path, vault) = (try file(), try await fixture.open())
        func refusal(
            _ source: Unread, as url: MediaURL, _ options: ImportOptions = ImportOptions()
        ) async -> VaultError? {
            await #expect(throws: VaultError.self) {
                _ = try await vault.transfer.importFile(source, as: MediaReference(url), options: options) { _ in }
            }
        }
        _ = try await imported(path, into: vault)
        let held = await refusal(Unread(), as: fixture.url)
        #expect(held?.code == .inUse && held?.message.contains("already holds all of this title") == true)
        for (source, url, type) in [
            (Unread(), fixture.origin.url("/list.m3u8"), nil),
            (Unread(type: nil), fixture.origin.url("/list.mpd"), nil),
            (Unread(), fixture.origin.url("/list"), "application/vnd.apple.mpegurl"),
        ] as [(Unread, MediaURL, String?)] {
            let error = await refusal(source, as: url, ImportOptions(type: type))
            #expect(error?.code == .invalidArgument && error?.message.contains("is a playlist") == true)
        }
        await vault.close()
    }

    @Test(
        "A playlist, an empty file, a folder and a missing file are refused",
        arguments: ["list", "empty", "folder", "none"])
    func unusable(kind: String) async throws {
        let path = folder.path + "/" + kind
        switch kind {
        case "list": try Data("#EXTM3U\n#EXTINF:4,\na.ts\n#EXT-X-ENDLIST\n".utf8).write(to: URL(filePath: path))
        case "empty": try Data().write(to: URL(filePath: path))
        case "folder": try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        default: break
        }
        let vault = try await fixture.open()
        let error = await #expect(throws: VaultError.self) { try await imported(path, into: vault) }
        #expect(error?.code == (kind == "none" ? .storage : .invalidArgument))
        try await expectNothing(in: vault)
        await vault.close()
    }

    /// Bytes that end early, are too many, or break off after a while.
    private final class FaultySource: ImportSource, Sendable {
        let length: Int64
        let type: String? = nil
        private let given = Locked<Int64>(0)
        let end: Int64
        let failure: VaultError?

        init(length: Int64, end: Int64, failure: VaultError? = nil) {
            (self.length, self.end, self.failure) = (length, end, failure)
        }

        func next() async throws -> [UInt8]? {
            let first = given.withLock { $0 }
            guard first < end else {
                if let failure { throw failure }
                return nil
            }
            let range = first..<min(end, first + 1_000_000)
            given.withLock { $0 = range.upperBound }
            return PseudoRandomMedia(seed: 1, length: range.upperBound).bytes(range)
        }
    }

    @Test("A file that is shorter or longer than it seemed, or breaks off, leaves nothing")
    func brokenOff() async throws {
        let vault = try await fixture.open()
        for source in [
            FaultySource(length: Self.length, end: Self.length - 1), FaultySource(length: 9_000_000, end: 9_000_001),
            FaultySource(length: Self.length, end: 9_000_000, failure: VaultError(.storage, "it broke off")),
        ] {
            await #expect(throws: VaultError.self) {
                try await vault.transfer.importFile(source, as: MediaReference(fixture.url), options: Self.unasked) {
                    _ in
                }
            }
            try await expectNothing(in: vault)
        }
        await vault.close()
    }

    @Test("What an owner that was killed had imported in part is gone when the vault is opened again")
    func killed() async throws {
        let vault = try await fixture.open()
        let resource = try await vault.name(MediaReference(fixture.url))
        let information = ContentInformation(
            length: Self.length, type: nil, validators: Validators(), supportsRanges: true)
        let metadata = ResourceMetadata(url: fixture.url.absoluteString, cacheKey: resource.key.bytes, created: 1)
        let writer = ImportWriter(length: Self.length, in: vault.store)
        try writer.begin { try vault.store.imports.begin(resource.id, metadata, as: .download, information) }
        _ = try writer.append(Self.media.bytes(0..<10_000_000))
        #expect(!fixture.segmentFiles.isEmpty, "premise")
        await vault.close()
        let next = try await fixture.open()
        try await expectNothing(in: next)
        #expect(try await imported(file(), into: next).origin == .same)
        #expect(try await fixture.read(next) == 0..<Self.length)
        await next.close()
    }

    @Test("Samples cover a short file whole, and of a long one both ends")
    func samples() {
        var random = SystemRandomNumberGenerator()
        let most = OriginComparison.sampleBytes * OriginComparison.sampleCount
        for length in [1, 7, most] { #expect(OriginComparison.samples(of: length, using: &random) == [0..<length]) }
        for length in [most + 1, 1 << 40] {
            let samples = OriginComparison.samples(of: length, using: &random)
            #expect(samples.count == Int(OriginComparison.sampleCount))
            #expect(samples.first?.lowerBound == 0 && samples.contains { $0.upperBound == length })
            #expect(samples.allSatisfy { $0.length == OriginComparison.sampleBytes && $0.upperBound <= length })
        }
    }
}
