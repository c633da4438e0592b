import Foundation
import MediaVault
import Testing
import VaultModel

@testable import VaultService

@Suite("Sessions of the API", .timeLimit(.minutes(5)))
struct SessionRouteTests {
    private static let path = "/api/v1/sessions"

    /// Signs in as a page does; returns the value of the cookie's field, and the proof.
    private static func signIn(
        to service: RunningService, with ticket: String? = nil
    ) async throws -> (cookie: String, proof: String) {
        let ticket = try ticket ?? service.server.api.tickets.issue(.session, for: nil).text
        let answer = try #require(await begin(with: ticket, on: service))
        #expect(answer.head.status == 201)
        let begun = try JSONText.read(BegunSessionDocument.self, from: answer.body)
        let cookie = try #require(answer.head["Set-Cookie"]?.split(separator: ";").first.map { String($0) })
        return (cookie, begun.proof)
    }

    private static func begin(
        with ticket: String, on service: RunningService, origin: String? = nil
    ) async throws -> (head: RawHead, body: [UInt8])? {
        try await service.client().ask(
            "POST", path, host: service.host,
            fields: [
                "Content-Type": "application/json", "Origin": origin ?? "http://\(service.host)",
                "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            ],
            body: #"{"ticket":"\#(ticket)"}"#)
    }

    @Test("A ticket signs a browser in once, with a cookie that no script and no other site can use")
    func cookie() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            let ticket = try service.server.api.tickets.issue(.session, for: nil).text
            let answer = try #require(await Self.begin(with: ticket, on: service))
            let cookie = try #require(answer.head["Set-Cookie"])
            #expect(cookie.hasPrefix("mediavault-\(service.port)=mvs_"))
            for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age=604800"] {
                #expect(cookie.contains(part), "\(part)")
            }
            let begun = try JSONText.read(BegunSessionDocument.self, from: answer.body)
            #expect(begun.session.browser == "Firefox on Linux" && begun.session.scope == .admin)
            #expect(!String(decoding: answer.body, as: UTF8.self).contains("mvs_"), "no script sees the cookie")
            #expect(try await Self.begin(with: ticket, on: service)?.head.status == 401)
            #expect(service.vault.access.issued(.sessions).count == 1)
        }
        #expect(
            SessionCookie(port: 8443, isSecure: true).begun("a", lifetime: 5)
                == "__Host-mediavault-8443=a; Path=/; Max-Age=5; HttpOnly; SameSite=Strict; Secure")
    }

    @Test(
        "A ticket from the control socket ends with all links, with all sessions, with a lock and with another root key",
        arguments: ["revocations", "sessions?all=true", "rotations", "locks"])
    func ticketOfControl(ending: String) async throws {
        let test = try await TestVault()
        try await RunningService.run(over: test, hasControl: true) { service in
            func ticket(_ use: String) async throws -> String {
                let answer = try await service.control("POST", "/api/v1/tickets", body: #"{"use":"\#(use)"}"#)
                return try JSONText.read(TicketDocument.self, from: answer.body).ticket
            }
            let (session, events) = (try await ticket("session"), try await ticket("events"))
            let open = try service.client()
            await open.request("GET", "/api/v1/events?ticket=\(try await ticket("events"))", host: service.host)
            #expect(await open.readHead()?.status == 200, "premise")
            if ending == "rotations" {
                _ = try await service.vault.keys.rotateRoot(unlockedBy: [test.unlock])
            } else {
                let method = ending.hasPrefix("sessions") ? "DELETE" : "POST"
                #expect(try await service.control(method, "/api/v1/\(ending)").head.status == 200)
            }
            // A vault that is locked does not look at tickets.
            let refusal = try await Self.begin(with: session, on: service)?.head.status
            #expect(refusal == (ending == "locks" ? 503 : 401))
            let feed = try await service.client().ask("GET", "/api/v1/events?ticket=\(events)", host: service.host)
            #expect(feed?.head.status == 401)
            #expect(service.vault.access.issued(.sessions).isEmpty)
            // The feed that one of them opened ends, too; after a lock, it ends at its next event.
            if ending != "locks" { while await open.readChunk() != nil {} }
        }
    }

    @Test("A ticket for events signs no browser in, and one for a session opens no feed")
    func otherUse() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            let tickets = service.server.api.tickets
            let (events, session) = (try tickets.issue(.events, for: nil), try tickets.issue(.session, for: nil))
            #expect(try await Self.begin(with: events.text, on: service)?.head.status == 401)
            let feed = try await service.client().ask(
                "GET", "/api/v1/events?ticket=\(session.text)", host: service.host)
            #expect(feed?.head.status == 401)
        }
    }

    @Test("Only an admin creates tickets for sessions, and a ticket ends with the token that it was created with")
    func tickets() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            func create(_ token: String) async throws -> (head: RawHead, body: [UInt8]) {
                try #require(
                    await service.client().ask(
                        "POST", "/api/v1/tickets", host: service.host,
                        fields: ["Authorization": "Bearer \(token)", "Content-Type": "application/json"],
                        body: #"{"use":"session"}"#))
            }
            for scope in [AccessScope.read, .play] {
                #expect(try await create(service.vault.access.createToken(scope).text).head.status == 400)
            }
            let admin = try await service.vault.access.createToken(.admin)
            let made = try await create(admin.text)
            #expect(made.head.status == 200)
            let ticket = try JSONText.read(TicketDocument.self, from: made.body).ticket
            try await service.vault.access.revoke([admin.grant])
            #expect(try await Self.begin(with: ticket, on: service)?.head.status == 401)
        }
    }

    @Test(
        "A request of a session needs its cookie and its proof, and a change needs to come from the service's own page")
    func requests() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            let (cookie, proof) = try await Self.signIn(to: service)
            let other = try await Self.signIn(to: service)
            let own = "http://\(service.host)"
            func status(
                _ fields: KeyValuePairs<String, String>, _ method: String = "GET",
                _ path: String = "/api/v1/status"
            ) async throws -> Int? {
                try await service.client().ask(method, path, host: service.host, fields: fields)?.head.status
            }
            #expect(try await status(["Cookie": cookie, "X-Session-Proof": proof]) == 200)
            #expect(try await status(["Cookie": "a=b; \(cookie) ;c=d", "X-Session-Proof": proof]) == 200)
            #expect(try await status(["Cookie": cookie]) == 401)
            #expect(try await status(["X-Session-Proof": proof]) == 401)
            #expect(try await status(["Cookie": cookie, "X-Session-Proof": other.proof]) == 401)
            // Another service on the same host may set a cookie of the same name.
            let shadowed =
                String(repeating: "\(cookie.prefix { $0 != "=" })=of a neighbour; ", count: 20)
                + "\(cookie.prefix { $0 != "=" })=x; \(other.cookie); \(cookie)"
            #expect(try await status(["Cookie": shadowed, "X-Session-Proof": proof]) == 200)
            #expect(try await status(["Cookie": other.cookie, "X-Session-Proof": proof]) == 401)
            #expect(try await status(["Cookie": cookie, "X-Session-Proof": proof, "Authorization": "Basic a"]) == 401)
            #expect(try await status(["Cookie": cookie, "X-Session-Proof": proof, "x-session-proof": "x"]) == 401)
            let session: KeyValuePairs = ["Cookie": cookie, "X-Session-Proof": proof]
            #expect(try await status(session, "POST", "/api/v1/revocations") == 403, "nothing says who sent it")
            for (field, value, expected) in [
                ("Origin", "http://a.example", 403), ("Origin", "null", 403), ("Sec-Fetch-Site", "same-site", 403),
                ("Sec-Fetch-Site", "cross-site", 403), ("Sec-Fetch-Site", "none", 403),
                ("Sec-Fetch-Site", "same-origin", 200), ("Origin", own, 200),
            ] {
                let fields: KeyValuePairs = ["Cookie": cookie, "X-Session-Proof": proof, field: value]
                #expect(try await status(fields, "POST", "/api/v1/tickets") == expected, "\(field): \(value)")
            }
            #expect(try await status(session, "GET", "/metrics") == 200)
        }
    }

    @Test("Whatever changes something in a session comes from the service's own page, by any method")
    func changes() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            let (cookie, proof) = try await Self.signIn(to: service)
            for (method, path) in [
                ("DELETE", "session"), ("DELETE", "sessions?all=true"), ("PATCH", "settings"),
                ("PUT", "resources/aaaaaaaa/position"), ("POST", "locks"),
            ] {
                let answer = try await service.client().ask(
                    method, "/api/v1/\(path)", host: service.host,
                    fields: ["Cookie": cookie, "X-Session-Proof": proof])
                #expect(answer?.head.status == 403, "\(method) \(path)")
            }
            #expect(service.vault.access.issued(.sessions).count == 1 && !service.vault.isLocked)
        }
    }

    @Test("A session ends with the token whose ticket began it, and with the viewer who is signed in")
    func endsWith() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            func status(_ session: (cookie: String, proof: String)) async throws -> Int? {
                try await service.client().ask(
                    "GET", "/api/v1/session", host: service.host,
                    fields: ["Cookie": session.cookie, "X-Session-Proof": session.proof])?.head.status
            }
            let admin = try await service.vault.access.createToken(.admin)
            let made = try #require(
                await service.client().ask(
                    "POST", "/api/v1/tickets", host: service.host,
                    fields: ["Authorization": "Bearer \(admin.text)", "Content-Type": "application/json"],
                    body: #"{"use":"session"}"#))
            let ticket = try JSONText.read(TicketDocument.self, from: made.body).ticket
            let owner = try await Self.signIn(to: service, with: ticket)
            let anna = try await service.vault.viewers.add("Anna")
            let viewer = try await Self.signIn(
                to: service, with: service.server.api.tickets.issue(.session, of: anna.id, for: nil).text)
            #expect(try await [status(owner), status(viewer)] == [200, 200])
            try await service.vault.access.revoke([admin.grant])
            #expect(try await [status(owner), status(viewer)] == [401, 200])
            // The viewer is removed without ending their session.
            try await service.vault.viewers.remove(anna.id)
            #expect(try await status(viewer) == 401)
        }
    }

    @Test("No page of another site, and no client without a page, signs in")
    func otherSite() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            let tickets = service.server.api.tickets
            for origin in ["http://a.example", "null", "http://127.0.0.1:1", "http://localhost:\(service.port)"] {
                let ticket = try tickets.issue(.session, for: nil).text
                #expect(
                    try await Self.begin(with: ticket, on: service, origin: origin)?.head.status == 403, "\(origin)")
            }
            let ticket = try tickets.issue(.session, for: nil).text
            let answer = try await service.client().ask(
                "POST", Self.path, host: service.host, fields: ["Content-Type": "application/json"],
                body: #"{"ticket":"\#(ticket)"}"#)
            #expect(answer?.head.status == 403)
            #expect(service.vault.access.issued(.sessions).isEmpty)
        }
    }

    @Test("A session tells of itself, is listed, and is ended by its browser or by its id")
    func ends() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            let one = try await Self.signIn(to: service)
            let two = try await Self.signIn(to: service)
            func ask(
                _ method: String, _ path: String, as session: (cookie: String, proof: String)
            ) async throws -> (head: RawHead, body: [UInt8]) {
                try #require(
                    await service.client().ask(
                        method, path, host: service.host,
                        fields: [
                            "Cookie": session.cookie, "X-Session-Proof": session.proof,
                            "Origin": "http://\(service.host)",
                        ]))
            }
            let own = try JSONText.read(
                SessionDocument.self, from: try await ask("GET", "/api/v1/session", as: one).body)
            let all = try JSONText.read(
                SessionsDocument.self, from: try await ask("GET", "/api/v1/sessions", as: two).body)
            #expect(all.sessions.count == 2 && all.sessions.contains { $0.id == own.id && $0.lastUsed != nil })
            let out = try await ask("DELETE", "/api/v1/session", as: two)
            #expect(out.head.status == 200 && out.head["Set-Cookie"]?.contains("Max-Age=0") == true)
            #expect(try await ask("GET", "/api/v1/session", as: two).head.status == 401)
            let ended = try await ask("DELETE", "/api/v1/sessions?id=\(own.id)", as: one)
            #expect(ended.head.status == 200)
            #expect(try await ask("GET", "/api/v1/session", as: one).head.status == 401)
        }
    }

    @Test("A session has its browser's name until it gets another")
    func named() async throws {
        let test = try await TestVault()
        try await RunningService.run(over: test, hasControl: true) { service in
            _ = try await Self.signIn(to: service)
            let id = try #require(service.vault.access.issued(.sessions).first?.shortID)
            let order = #"{"id":"\#(id)","name":"Kitchen"}"#
            #expect(try await service.control("PATCH", "/api/v1/sessions", body: order).head.status == 200)
            let unknown = #"{"id":"00000000","name":"Kitchen"}"#
            #expect(try await service.control("PATCH", "/api/v1/sessions", body: unknown).head.status == 404)
            #expect(service.vault.access.issued(.sessions).map(\.name) == ["Kitchen"])
            let listed = try await service.control("GET", "/api/v1/sessions").body
            #expect(try JSONText.read(SessionsDocument.self, from: listed).sessions.map(\.browser) == ["Kitchen"])
        }
    }

    @Test("A locked vault tells its pages so, and does not take it for a session that has ended")
    func locked() async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            _ = try await service.control("POST", "/api/v1/locks")
            for path in ["session", "status"] {
                let answer = try #require(
                    await service.client().ask("GET", "/api/v1/\(path)", host: service.host))
                #expect(answer.head.status == (path == "session" ? 503 : 401))
                #expect(String(decoding: answer.body, as: UTF8.self).contains("locked") == (path == "session"))
            }
        }
    }

    @Test("A link that a session creates ends with it, unless it has a name")
    func links() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            let (cookie, proof) = try await Self.signIn(to: service)
            let url = "http://a.example/film.mp4"
            func link(_ members: String) async throws -> String {
                let answer = try #require(
                    await service.client().ask(
                        "POST", "/api/v1/links", host: service.host,
                        fields: [
                            "Cookie": cookie, "X-Session-Proof": proof, "Origin": "http://\(service.host)",
                            "Content-Type": "application/json",
                        ],
                        body: #"{"url":"\#(url)"\#(members)}"#))
                return try JSONText.read(LinkDocument.self, from: answer.body).path
            }
            let (plain, named) = (try await link(""), try await link(#","name":"tv""#))
            let now = Int64(Date().timeIntervalSince1970)
            #expect(service.vault.tokens.admission(ofTarget: plain, now: now) != nil, "premise")
            try await service.vault.access.revoke(service.vault.access.issued(.sessions))
            #expect(service.vault.tokens.admission(ofTarget: plain, now: now) == nil)
            #expect(service.vault.tokens.admission(ofTarget: named, now: now) != nil)
        }
    }

    @Test("No browser signs in, and no page is served, over plain HTTP that other machines can reach")
    func plainHTTP() async throws {
        var configuration = ServiceConfiguration()
        configuration.address = ListenAddress(host: "0.0.0.0", port: 0)
        configuration.isInsecure = true
        try await RunningService.run(over: try await TestVault(), configuration: configuration) { service in
            let page = try #require(await service.client().ask("GET", "/", host: service.host))
            #expect(page.head.status == 403 && page.head["Content-Type"]?.hasPrefix("text/plain") == true)
            #expect(String(decoding: page.body, as: UTF8.self).contains("TLS"))
            let ticket = try service.server.api.tickets.issue(.session, for: nil).text
            #expect(try await Self.begin(with: ticket, on: service)?.head.status == 400)
            #expect(service.vault.access.issued(.sessions).isEmpty)
        }
    }

    @Test(
        "A browser is named by what its User-Agent says, and by nothing else of it",
        arguments: [
            (
                "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0",
                "Edge on Windows"
            ),
            ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/17.0 Safari/605.1.15", "Safari on macOS"),
            ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) CriOS/140 Safari/604.1", "Chrome on iPhone"),
            ("curl/8.5.0", "curl"), ("<script>", nil), ("", nil), (nil, nil),
        ] as [(String?, String?)])
    func browser(userAgent: String?, expected: String?) {
        #expect(BrowserName.of(userAgent: userAgent) == expected)
    }
}
