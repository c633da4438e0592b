import Foundation
import Logging
import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Resources over the control socket", .timeLimit(.minutes(5)))
struct ControlResourceTests {
    private let title = ScriptedResource(seed: 5, length: 2_000_000)

    @Test("Resources are listed in pages, and one resource is returned by its URL with its held ranges")
    func resources() async throws {
        let origin = try ScriptedOrigin(ScriptedResource(length: 1000))
        defer { origin.stop() }
        let urls = (0..<7).map { origin.url("/\($0)?t=%26+%20&u=%") }
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            for url in urls { for try await _ in service.vault.download(url) {} }
            let served = RemoteVault(ControlClient(folder: service.folder))
            var (cursor, told, pages) = (String?.none, Set<String>(), 0)
            repeat {
                let page = try await served.resources(after: cursor, limit: 3)
                told.formUnion(page.resources.map(\.url))
                cursor = page.next
                pages += 1
            } while cursor != nil
            #expect(told == Set(urls.map(\.absoluteString)) && pages == 3)
            let document = try #require(try await served.resource(MediaReference(urls[4])))
            #expect(document.held == [0..<1000] && document.isComplete && document.url == urls[4].absoluteString)
            #expect(try await served.resource(MediaReference(origin.url("/other"))) == nil)
        }
    }

    @Test(
        "Requested bytes arrive byte for byte, fetched or held",
        arguments: [
            (RequestedRange.whole, 0..<2_000_000), (.from(1_999_990), 1_999_990..<2_000_000),
            (.closed(first: 70_000, last: 799_999), 70_000..<800_000), (.suffix(5), 1_999_995..<2_000_000),
            (.closed(first: 1_999_999, last: .max), 1_999_999..<2_000_000),
        ] as [(RequestedRange, ByteRange)])
    func content(range: RequestedRange, bytes: ByteRange) async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let reference = MediaReference(origin.url())
        try await RunningService.run(over: try await TestVault(), hasControl: true) { [title] service in
            let served = RemoteVault(ControlClient(folder: service.folder))
            for _ in 0..<2 {
                var read: [UInt8] = []
                try await served.read(reference, range) { read += $0 }
                #expect(read.count == bytes.count && title.media.matches(read, at: bytes.lowerBound))
            }
            #expect(try await service.vault.status().bytesFetched <= 2_000_000)
        }
    }

    @Test("If an origin does not support ranges, only the requested range is returned")
    func contentWithoutRanges() async throws {
        var plain = title
        plain.supportsRanges = false
        let origin = try ScriptedOrigin(plain)
        defer { origin.stop() }
        let reference = MediaReference(origin.url())
        try await RunningService.run(over: try await TestVault(), hasControl: true) { [title] service in
            var read: [UInt8] = []
            try await RemoteVault(ControlClient(folder: service.folder)).read(
                reference, .closed(first: 1000, last: 1999)
            ) { read += $0 }
            #expect(read.count == 1000 && title.media.matches(read, at: 1000))
        }
    }

    @Test("If bytes are missing, the bytes before them arrive, then the error", arguments: [true, false])
    func contentWithHole(isWhole: Bool) async throws {
        let origin = try ScriptedOrigin(title)
        let reference = MediaReference(origin.url())
        let test = try await TestVault()
        let vault = try await test.open()
        for try await _ in try await vault.read(reference, range: .closed(first: 0, last: 499_999)) {}
        await vault.close()
        origin.stop()
        try await RunningService.run(over: test, isOffline: true, hasControl: true) { [title] service in
            var read: [UInt8] = []
            let range = isWhole ? RequestedRange.whole : .closed(first: 0, last: 999_999)
            let error = await #expect(throws: VaultError.self) {
                try await RemoteVault(ControlClient(folder: service.folder)).read(reference, range) { read += $0 }
            }
            #expect(error?.code == .notHeld && error?.firstMissing == Int64(read.count))
            #expect(read.count >= 500_000 && title.media.matches(read, at: 0))
        }
    }
}
