import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultService

@Suite("How viewers sign in", .timeLimit(.minutes(5)))
struct ViewerSignInTests {
    private static let path = "/api/v1/sessions"

    /// Sends what a page sends to sign in.
    private static func post(
        _ body: String, to service: RunningService
    ) async throws -> (head: RawHead, body: [UInt8]) {
        try #require(
            await service.client().ask(
                "POST", path, host: service.host,
                fields: ["Content-Type": "application/json", "Origin": "http://\(service.host)"], body: body))
    }

    @Test(
        "A viewer signs in by name and PIN, or by a ticket of the owner, and is signed out with a new PIN and for good")
    func viewer() async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let anna = try await service.vault.viewers.add("Anna", pin: PIN("2468"))
            let wrong = try await Self.post(#"{"name":"Anna","pin":"1357"}"#, to: service)
            let unknown = try await Self.post(#"{"name":"Berta","pin":"1357"}"#, to: service)
            #expect(wrong.head.status == 401 && unknown.head.status == 401 && wrong.body == unknown.body)
            for odd in ["{}", #"{"name":"Anna"}"#, #"{"pin":"2468"}"#] {
                #expect(try await Self.post(odd, to: service).head.status == 400)
            }
            func status(
                _ session: (head: RawHead, body: [UInt8]), _ path: String, _ method: String = "GET"
            ) async throws -> Int? {
                let begun = try JSONText.read(BegunSessionDocument.self, from: session.body)
                let cookie = try #require(session.head["Set-Cookie"]?.split(separator: ";").first)
                return try await service.client().ask(
                    method, "/api/v1/" + path, host: service.host,
                    fields: [
                        "Cookie": String(cookie), "X-Session-Proof": begun.proof, "Origin": "http://\(service.host)",
                    ])?.head.status
            }
            let signedIn = try await Self.post(#"{"name":"anna","pin":"2468"}"#, to: service)
            #expect(signedIn.head.status == 201)
            let begun = try JSONText.read(BegunSessionDocument.self, from: signedIn.body)
            #expect(begun.session.viewer == "Anna" && begun.session.scope == .play)
            for path in ["session", "resources", "positions"] { #expect(try await status(signedIn, path) == 200) }
            #expect(try await status(signedIn, "tickets", "POST") == 200)
            for path in ["status", "settings", "sessions", "tokens", "viewers", "keys", "downloads", "openapi.json"] {
                #expect(try await status(signedIn, path) == 403, "\(path)")
            }
            _ = try await service.control("PATCH", "/api/v1/viewers", body: #"{"id":"\#(anna.id.hex)","pin":"97531"}"#)
            #expect(try await status(signedIn, "session") == 401)
            let ticket = try service.server.api.tickets.issue(.session, of: anna.id, for: nil).text
            let again = try await Self.post(#"{"ticket":"\#(ticket)"}"#, to: service)
            #expect(try await status(again, "resources") == 200)
            #expect(try await status(again, "status") == 403)
            _ = try await service.control("DELETE", "/api/v1/viewers?id=\(anna.id.hex)")
            #expect(try await status(again, "session") == 401)
            #expect(service.vault.access.issued(.sessions).isEmpty)
        }
    }

    @Test("A viewer whose PIN is taken away is signed out, and one whose name changes is not")
    func pinTaken() async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let anna = try await service.vault.viewers.add("Anna", pin: PIN("2468"))
            let session = try await service.vault.access.beginSession(of: anna.id, in: nil, endingFormer: nil)
            for (change, left) in [(#""name":"Berta""#, [session.grant.id]), (#""hasPIN":false"#, [])] {
                let answer = try await service.control(
                    "PATCH", "/api/v1/viewers", body: #"{"id":"\#(anna.id.hex)",\#(change)}"#)
                #expect(answer.head.status == 200)
                #expect(service.vault.access.issued(.sessions).map(\.id) == left, "\(change)")
            }
        }
    }

    @Test(
        "Whose PIN is being looked at is not let in when all links are revoked meanwhile, or all sessions are ended",
        arguments: [("POST", "revocations"), ("DELETE", "sessions?all=true")])
    func revokedMeanwhile(method: String, path: String) async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let viewers = service.vault.viewers
            try await viewers.add("Anna", pin: PIN("2468"))
            let (ends, end) = AsyncStream.makeStream(of: Never.self)
            let (begins, begin) = AsyncStream.makeStream(of: Void.self)
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await viewers.signIns.run(from: nil) {
                        begin.finish()
                        for await _ in ends {}
                    }
                }
                for await _ in begins {}
                group.addTask {
                    let answer = try await Self.post(#"{"name":"Anna","pin":"2468"}"#, to: service)
                    #expect(answer.head.status == 409)
                }
                while viewers.signIns.waitingCount == 0 { try await Task.sleep(for: .milliseconds(1)) }
                #expect(try await service.control(method, "/api/v1/\(path)").head.status == 200)
                end.finish()
                try await group.waitForAll()
            }
            #expect(service.vault.access.issued(.sessions).isEmpty)
            #expect(try await Self.post(#"{"name":"Anna","pin":"2468"}"#, to: service).head.status == 201)
        }
    }

    @Test("A sign-in takes no more memory than it needs")
    func longBody() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            let name = String(repeating: "a", count: 5000)
            let answer = try await Self.post(#"{"name":"\#(name)","pin":"2468"}"#, to: service)
            #expect(answer.head.status == 400)
        }
    }

    @Test("After too many wrong PINs the next try has to wait, also with the right one")
    func tries() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            try await service.vault.viewers.add("Anna", pin: PIN("2468"))
            func head(_ pin: String) async throws -> RawHead {
                try await Self.post(#"{"name":"Anna","pin":"\#(pin)"}"#, to: service).head
            }
            for _ in 0..<5 { #expect(try await head("1111").status == 401) }
            let refused = try await head("2468")
            #expect(refused.status == 429)
            #expect((1...30).contains(refused["Retry-After"].flatMap { Int($0) } ?? 0))
        }
    }

    @Test("A browser in which a viewer signed in signs in again, whatever others have tried from the same address")
    func knownBrowser() async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let anna = try await service.vault.viewers.add("Anna", pin: PIN("2468"))
            func send(_ pin: String, cookie: String? = nil) async throws -> RawHead {
                try #require(
                    try await service.client().ask(
                        "POST", Self.path, host: service.host,
                        fields: [
                            "Content-Type": "application/json", "Origin": "http://\(service.host)",
                            "Cookie": cookie ?? "other=1",
                        ], body: #"{"name":"Anna","pin":"\#(pin)"}"#)
                ).head
            }
            let cookies = try await send("2468").cookies
            #expect(cookies.count == 2)
            let device = try #require(cookies.first { $0.contains("=mvd_") })
            for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/api/v1/sessions;", "; Max-Age=34560000"] {
                #expect(device.contains(part), "\(part)")
            }
            for _ in 0..<5 { #expect(try await send("1111").status == 401) }
            #expect(try await send("2468").status == 429)
            let cookie = String(device.prefix { $0 != ";" })
            #expect(try await send("2468", cookie: "other=1; \(cookie)").status == 201)
            #expect(try await send("2468", cookie: cookie.replacing("mvd_", with: "mvd_A")).status == 429)
            let listed = try await service.control("GET", "/api/v1/viewers")
            let failures = try JSONText.read(ViewersDocument.self, from: listed.body).viewers.first?.failures
            #expect(failures?.map(\.count) == [5] && failures?.first?.address == nil)
            let unlocked = try await service.control(
                "PATCH", "/api/v1/viewers", body: #"{"id":"\#(anna.id.hex)","unlock":true}"#)
            #expect(try JSONText.read(ViewerDocument.self, from: unlocked.body).failures == [])
            #expect(try await send("2468").status == 201)
        }
    }

    @Test("Addresses are shown as people write them")
    func addressTexts() {
        #expect(FailedSignInsDocument.text([192, 0, 2, 1]) == "192.0.2.1")
        #expect(FailedSignInsDocument.text([0x20, 1, 0xD, 0xB8, 0, 0, 0, 9]) == "2001:db8:0:9::/64")
    }

    @Test("Who signs in while the service only reads the vault is told so, with 503")
    func readOnly() async throws {
        let test = try await TestVault()
        await (try await test.open()).close()
        let vault = try await test.open(access: .reader)
        let api = APIResponder(vault: vault, metrics: ServiceMetrics())
        let channel = NIOAsyncTestingChannel()
        var context = ServiceContext(source: ApplicationRequestContextSource(channel: channel, logger: .silent))
        context.cookie = SessionCookie(port: 443, isSecure: true)
        let body = ByteBuffer(string: #"{"name":"Anna","pin":"0000"}"#)
        var head = HTTPRequest(method: .post, scheme: nil, authority: nil, path: Self.path)
        head.headerFields[.contentLength] = String(body.readableBytes)
        let request = Request(head: head, body: RequestBody(buffer: body))
        #expect(try await api.respond(to: request, about: .sessions, context: context).status.code == 503)
        await vault.close()
    }

    @Test("Very many who sign in from one address leave the turns of another address")
    func addresses() async throws {
        let vault = try await TestVault().open()
        let api = APIResponder(vault: vault, metrics: ServiceMetrics())
        @Sendable func status(_ number: Int, from address: String) async throws -> Int {
            let channel = NIOAsyncTestingChannel()
            channel.remoteAddress = try SocketAddress(ipAddress: address, port: 1)
            var context = ServiceContext(source: ApplicationRequestContextSource(channel: channel, logger: .silent))
            context.cookie = SessionCookie(port: 443, isSecure: true)
            let body = ByteBuffer(string: #"{"name":"Name \#(number)","pin":"0000"}"#)
            var head = HTTPRequest(method: .post, scheme: nil, authority: nil, path: Self.path)
            head.headerFields[.contentLength] = String(body.readableBytes)
            let request = Request(head: head, body: RequestBody(buffer: body))
            return try await api.respond(to: request, about: .sessions, context: context).status.code
        }
        try await withThrowingTaskGroup(of: Int.self) { many in
            for number in 0..<40 { many.addTask { try await status(number, from: "192.0.2.1") } }
            while try await many.next() != 429 {}
            // The queue is full of callers from the first address.
            let others = try await withThrowingTaskGroup(of: Int.self) { others in
                for number in 40..<46 { others.addTask { try await status(number, from: "192.0.2.2") } }
                return try await others.reduce(into: []) { $0.append($1) }
            }
            #expect(others == Array(repeating: 401, count: 6))
            try await many.waitForAll()
        }
        await vault.close()
    }
}
