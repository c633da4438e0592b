import Foundation
import Testing

/// SIGHUP, which a closed terminal sends, and operators send to have files read again.
@Suite struct HangUpTests {
    @Test("A hang-up leaves the service running, and is logged")
    func running() async throws {
        let served = try await ServedLab()
        let service = try await served.serve()
        service.signal(SIGHUP)
        _ = try #require(await service.line { $0.contains("a hang-up changed nothing") })
        #expect(try await served.keyless("status").status == 0)
        service.signal(SIGTERM)
        #expect(await service.result.status == 0)
    }
}
