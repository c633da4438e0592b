import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Keys through the service", .timeLimit(.minutes(5)))
struct KeysTests {
    private let title = ScriptedResource(seed: 9, length: 500_000)
    /// A title that is held in three segments.
    private let long = ScriptedResource(seed: 10, length: 20_000_000)

    private func serving(
        _ title: ScriptedResource? = nil,
        _ body: @escaping @Sendable (RunningService, MediaURL, TestVault) async throws -> Void
    ) async throws {
        let title = title ?? self.title
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let (url, test) = (origin.url("/film"), try await TestVault())
        try await RunningService.run(over: test, hasControl: true) { service in
            #expect(try await service.ask("GET", url)?.head.status == 200)
            try await service.waitUntilHeld(title.media.length, of: url)
            try await body(service, url, test)
        }
    }

    private func client(_ service: RunningService) -> RemoteVault {
        RemoteVault(ControlClient(folder: service.folder))
    }

    @Test("rotate, rewrap and retire over the control socket do what they do in the library, while the service runs")
    func acts() async throws {
        try await serving { [title] service, url, _ in
            let vault = client(service)
            #expect(
                try await vault.call(Operations.Keys.rotate, RotationRequest()).generations.map(\.resources) == [1, 0])
            let refused = await #expect(throws: VaultError.self) {
                try await vault.call(Operations.Keys.retire, RetirementRequest(generation: 1))
            }
            #expect(refused?.code == .inUse && refused?.hint == .rewrap)
            var steps: [RewrapProgress] = []
            let report = try await vault.follow(Operations.Keys.rewrap, EmptyDocument()) { steps.append($0) }
            #expect(report.generation == 2 && report.keys == 1 && report.unopened == 0 && steps.last?.total == 1)
            let proof = try await vault.call(Operations.Keys.retire, RetirementRequest(generation: 1))
            #expect(proof.generations.map(\.state) == [.retired, .current])
            #expect(try await vault.call(Operations.Keys.list) == proof)
            #expect(proof.generations.map(\.bytes) == [0, 500_000])
            #expect(
                try await vault.call(Operations.Keys.rotate, RotationRequest(locator: true)).locatorChanging == false)
            let played = try #require(try await service.ask("GET", url))
            #expect(played.head.status == 200 && title.media.matches(played.body, at: 0))
        }
    }

    @Test("An interrupted reseal is reported with its remaining work, as described")
    func unfinished() async throws {
        try await serving(long) { service, _, _ in
            #expect(try await client(service).call(Operations.Keys.list).reseal == nil)
            // Stops after the first segment, so the second or the third is left.
            for try await step in service.vault.keys.reseal(bytesPerSecond: 4_000_000)
            where step.bytes >= SegmentDescription.maxBytes { break }
            let keys = try await client(service).call(Operations.Keys.list)
            let rest = try #require(keys.reseal)
            #expect(rest.isDue && rest.resources == 1 && keys.shreds == 0)
            #expect((1...20_000_000 - SegmentDescription.maxBytes).contains(rest.bytes))
            let answer = try await service.control("GET", "/api/v1/keys")
            #expect(try SchemaCheck.faults(of: answer.body, "Keys") == [])
        }
    }

    @Test("A second key operation is refused with 409, which names the running one")
    func secondAct() async throws {
        try await serving { service, _, _ in
            let error = try await service.vault.keys.lock.exclusively(.reseal) {
                await #expect(throws: VaultError.self) {
                    try await client(service).call(Operations.Keys.rotate, RotationRequest())
                }
            }
            #expect(error?.code == .busy && error?.message.contains("a reseal is running") == true)
        }
    }

    @Test("A new root key is created with key files that the service reads; a token alone is not enough")
    func root() async throws {
        try await serving { service, url, test in
            let target = service.target(url)
            let key = URL(filePath: test.place.keyring).deletingLastPathComponent().path + "/key"
            let order = #"{"root":true,"slots":[{"method":"key-file","path":"\#(key)"}]}"#
            let fields: KeyValuePairs = [
                "Authorization": "Bearer \(service.token)", "Content-Type": "application/json",
            ]
            let asked = try service.client()
            let refused = await asked.ask("POST", "/api/v1/rotations", host: service.host, fields: fields, body: order)
            #expect(refused?.head.status == 400)
            #expect(try await service.vault.keys.report().current == 1)
            let vault = client(service)
            let missing = await #expect(throws: VaultError.self) {
                try await vault.rotateRoot(unlockedBy: [.credential(.standard)], droppingOtherSlots: false)
            }
            #expect(missing?.code == .invalidArgument && missing?.message.contains("mediavault.key") == true)
            let document = try await vault.rotateRoot(
                unlockedBy: [.unlock(.keyFile(path: key))], droppingOtherSlots: false)
            #expect(document.current == 2)
            let client = try service.client()
            #expect(await client.ask("GET", target, host: service.host)?.head.status == 404)
            #expect(try await service.ask("GET", url)?.head.status == 200)
        }
    }

    @Test(
        "A contradictory or incomplete order is refused",
        arguments: [
            #"{"root":true,"locator":true}"#, #"{"dropSlots":true}"#, #"{"root":true,"slots":[]}"#,
            #"{"root":true,"slots":[{"method":"key-file","path":"key"}]}"#,
            #"{"root":true,"slots":[{"method":"command","path":"/bin/true"}]}"#,
        ])
    func refused(_ order: String) async throws {
        try await serving { service, _, _ in
            let answer = try await service.control("POST", "/api/v1/rotations", body: order)
            #expect(answer.head.status == 400)
            #expect(try await service.vault.keys.report().current == 1)
        }
    }
}
