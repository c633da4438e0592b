import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Settings that name programs", .timeLimit(.minutes(2)))
struct ProgramSettingsTests {
    @Test("The control socket sets and shows programs; a token of any scope can do neither")
    func controlAlone() async throws {
        let test = try await TestVault()
        try await RunningService.run(over: test, hasControl: true) { service in
            let order = #"{"notifyCommand":["/bin/cat","secret"],"refreshCommand":["/bin/sh"]}"#
            for body in [order, #"{"notifyCommand":[],"maxAge":9}"#, #"{"refreshCommand":["/bin/sh"]}"#] {
                let refused = try await service.authorized("PATCH", "/api/v1/settings", body: body)
                #expect(refused.head.status == 400)
                let problem = String(decoding: refused.body, as: UTF8.self)
                #expect(problem.contains("control socket") && problem.contains("invalidArgument"))
            }
            #expect(try await service.vault.settings.programs() == ProgramSettings())
            #expect(try await service.vault.settings.limits().maxAge == nil, "a refused change changes nothing")

            let set = try await service.control("PATCH", "/api/v1/settings", body: order)
            #expect(set.head.status == 200)
            let told: SettingsDocument = try JSONText.read(from: set.body)
            #expect(told.notifyCommand == ["/bin/cat", "secret"] && told.refreshCommand == ["/bin/sh"])
            for (method, body) in [("GET", ""), ("PATCH", #"{"maxAge":5}"#)] {
                let shown = try await service.authorized(method, "/api/v1/settings", body: body)
                #expect(shown.head.status == 200 && !String(decoding: shown.body, as: UTF8.self).contains("secret"))
                let document: SettingsDocument = try JSONText.read(from: shown.body)
                #expect(document.notifyCommand == nil && document.refreshCommand == nil)
            }
            #expect(try await service.vault.settings.programs().notify?.words == ["/bin/cat", "secret"])

            let relative = try await service.control(
                "PATCH", "/api/v1/settings", body: #"{"notifyCommand":["notify"],"maxAge":7}"#)
            #expect(relative.head.status == 400)
            #expect(try await service.vault.settings.limits().maxAge == 5)
            for missing in [#"{"notifyCommand":["/nowhere/notify"],"maxAge":7}"#, #"{"refreshCommand":["/bin"]}"#] {
                let answer = try await service.control("PATCH", "/api/v1/settings", body: missing)
                #expect(answer.head.status == 400)
                #expect(String(decoding: answer.body, as: UTF8.self).contains("cannot be run"))
            }
            #expect(try await service.vault.settings.limits().maxAge == 5)
            _ = try await service.control("PATCH", "/api/v1/settings", body: #"{"refreshCommand":[]}"#)
        }
        let vault = try await test.open()
        let kept = try await vault.settings.programs()
        #expect(kept.notify?.words == ["/bin/cat", "secret"] && kept.refresh == nil)
        await vault.close()
    }
}
