import MediaVault
import OriginTestSupport
import Testing
import VaultTestSupport

@testable import VaultService

@Suite("The routes of subscriptions", .timeLimit(.minutes(5)))
struct SubscriptionRouteTests {
    @Test(
        "An impossible number of unusable lines is refused by name, and the service goes on",
        arguments: [
            -1, 1_000_001, Int.max,
        ])
    func unusable(count: Int) async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let long = String(repeating: "a", count: 5000)
            let answer = try await service.control(
                "POST", "/api/v1/syncs",
                body:
                    #"{"source":{"list":"a"},"unusable":\#(count),"entries":[{"url":"https://a.example/","contentID":"\#(long)"}]}"#
            )
            #expect(answer.head.status == 400)
            #expect(String(decoding: answer.body, as: UTF8.self).contains("unusable"))
            #expect(try await service.control("GET", "/api/v1/subscriptions").head.status == 200)
        }
    }

    @Test("A request removes one subscription by its id, or all of them, and nothing else")
    func removal() async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            for number in 1...3 {
                let body = #"{"url":"http://127.0.0.1:1/feed\#(number)","untried":true}"#
                #expect(try await service.control("POST", "/api/v1/subscriptions", body: body).head.status == 200)
            }
            let first = try #require(try await service.vault.subscriptions.all().subscriptions.first?.shortID)
            for query in ["", "?titles=true", "?all=false", "?all=true&id=\(first)", "?all=true&titles=true"] {
                let answer = try await service.control("DELETE", "/api/v1/subscriptions\(query)")
                #expect(answer.head.status == 400, "\(query)")
            }
            #expect(try await service.control("DELETE", "/api/v1/subscriptions?id=\(first)").head.status == 200)
            #expect(try await service.vault.subscriptions.all().subscriptions.count == 2)
            #expect(try await service.control("DELETE", "/api/v1/subscriptions?all=true").head.status == 200)
            #expect(try await service.vault.subscriptions.all().subscriptions.isEmpty)
        }
    }

    @Test("A new feed that cannot be read is refused with the reason, unless it is to be added untried")
    func tried() async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let body = #"{"url":"http://127.0.0.1:1/feed?token=hunter2"}"#
            let answer = try await service.control("POST", "/api/v1/subscriptions", body: body)
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(answer.head.status == 504 && text.contains("addUntried") && !text.contains("hunter2"))
            #expect(try await service.vault.subscriptions.all().subscriptions.isEmpty)
        }
    }
}
