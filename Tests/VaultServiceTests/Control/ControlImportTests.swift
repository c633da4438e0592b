import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Importing through the control socket", .timeLimit(.minutes(5)))
struct ControlImportTests {
    private final class Source: ImportSource, Sendable {
        let media: PseudoRandomMedia
        let type: String? = "video/mp4"
        var length: Int64 { media.length }
        private let given = Locked<Int64>(0)
        var isRead: Bool { given.withLock { $0 > 0 } }

        init(media: PseudoRandomMedia) { self.media = media }

        func next() async throws -> [UInt8]? {
            let first = given.withLock { $0 }
            guard first < length else { return nil }
            let range = first..<min(length, first + 1_000_000)
            given.withLock { $0 = range.upperBound }
            return media.bytes(range)
        }
    }

    @Test("The service stores what the client reads, and refuses what the origin has otherwise before all is sent")
    func imports() async throws {
        let title = ScriptedResource(seed: 9, length: 20_000_000)
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let (url, test) = (origin.url("/film"), try await TestVault())
        try await RunningService.run(over: test, hasControl: true) { service in
            let client = RemoteVault(ControlClient(folder: service.folder))
            let other = Source(media: PseudoRandomMedia(seed: 8, length: 20_000_000))
            let refusal = await #expect(throws: VaultError.self) {
                try await client.importFile(other, as: MediaReference(url), ImportOptions()) { _ in }
            }
            #expect(refusal?.code == .inUse)
            #expect(try await client.resource(MediaReference(url)) == nil)
            let report = try await client.importFile(
                Source(media: title.media), as: MediaReference(url), ImportOptions(name: "A film")
            ) { _ in }
            #expect(report.origin == .same && report.bytes == 20_000_000)
            let summary = try #require(try await client.resource(MediaReference(url)))
            #expect(summary.isComplete && summary.name == "A film")
            let again = Source(media: title.media)
            let held = await #expect(throws: VaultError.self) {
                try await client.importFile(again, as: MediaReference(url), ImportOptions()) { _ in }
            }
            #expect(held?.code == .inUse && held?.message.contains("already holds all of this title") == true)
            let playlist = await #expect(throws: VaultError.self) {
                try await client.importFile(again, as: MediaReference(origin.url("/a.m3u8")), ImportOptions()) { _ in }
            }
            #expect(playlist?.code == .invalidArgument && playlist?.message.contains("is a playlist") == true)
            #expect(!again.isRead, "a file was read that could be refused without it")
            let answer = try await service.authorized("POST", "/api/v1/imports", body: #"{"length":1,"url":"\#(url)"}"#)
            #expect(answer.head.status == 400)
            #expect(String(decoding: answer.body, as: UTF8.self).contains("control socket"))
        }
    }
}
