import Foundation
import MediaVault
import OriginTestSupport
import Testing

/// Commands beside an owner without a socket, and one that needs no owner.
@Suite(.timeLimit(.minutes(2)))
struct OwnerWithoutSocketTests {
    private let served: ServedLab

    init() async throws { served = try await ServedLab() }

    @Test("An owner without a socket is named, or waited for with --wait")
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

    @Test("SIGINT ends a command that waits")
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

    @Test("token prints what the API asks for, and needs the keyring only")
    func token() async throws {
        let token = try await served.lab.run("token").text
        #expect(token.hasSuffix("\n") && token.utf8.count == 44)
        try FileManager.default.removeItem(atPath: served.lab.vault)
        #expect(try await served.lab.run("token").text == token)
    }
}
