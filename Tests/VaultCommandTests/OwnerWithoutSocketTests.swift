import Foundation
import MediaVault
import OriginTestSupport
import Testing

/// Commands next to an owner without a socket.
@Suite(.timeLimit(.minutes(2)))
struct OwnerWithoutSocketTests {
    private let served: ServedLab

    init() async throws { served = try await ServedLab() }

    @Test("The message names an owner without a socket; --wait waits for it")
    func wait() async throws {
        let gate = Gate()
        served.hold(at: 400_000, gate)
        let owner = try served.lab.start(["fetch", served.url])
        await served.origin.wait { $0.contains { $0.phase == .held } }
        let refused = try await served.lab.run("fetch", served.url)
        #expect(refused.status == 1 && refused.error?.contains("\(owner.processIdentifier)") == true)
        let patient = try served.lab.start(["fetch", served.url, "--wait"])
        let line = try #require(await patient.line { $0.contains("waiting") })
        #expect(line.contains("\(owner.processIdentifier)"))
        gate.open()
        #expect(await owner.result.status == 0)
        #expect(await patient.result.status == 0)
        #expect(
            served.origin.exchanges.filter { $0.request.method == "GET" }.reduce(0) { $0 + $1.bodyBytesSent }
                == ServedLab.length)
    }

    @Test("SIGINT ends a waiting command")
    func waitInterrupted() async throws {
        let gate = Gate()
        served.hold(at: 400_000, gate)
        let owner = try served.lab.start(["fetch", served.url])
        await served.origin.wait { $0.contains { $0.phase == .held } }
        let patient = try served.lab.start(["fetch", served.url, "--wait"])
        _ = try #require(await patient.line { $0.contains("waiting") })
        patient.signal(SIGINT)
        #expect(await patient.result.status == 130)
        gate.open()
        #expect(await owner.result.status == 0)
    }
}
