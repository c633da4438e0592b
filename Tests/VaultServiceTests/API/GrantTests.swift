import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Tokens and tickets of the API", .timeLimit(.minutes(5)))
struct GrantTests {
    private let title = ScriptedResource(seed: 7, length: 100_000)

    @Test(
        "A request presents a token, a ticket for events, or nothing",
        arguments: [
            ([], "/api/v1/status", .none), (["Bearer a"], "/api/v1/status", .token("a")),
            (["bearer  a "], "/api/v1/status", .token("a")), (["Basic a"], "/api/v1/status", .token("")),
            (["Bearer a", "Bearer a"], "/api/v1/status", .token("")), ([], "/api/v1/events", .none),
            ([], "/api/v1/events?ticket=t", .ticket("t")), ([], "/api/v1/events?url=x&ticket=t", .ticket("t")),
            (["Bearer a"], "/api/v1/events?ticket=t", .token("a")), ([], "/api/v1/status?ticket=t", .none),
            ([], "/metrics?ticket=t", .none),
        ] as [([String], String, RequestCredential)])
    func credential(fields: [String], target: String, expected: RequestCredential) {
        #expect(RequestCredential(authorization: fields, target: target, route: Route(target: target)) == expected)
    }

    @Test("Each route and method needs the scope that this table says")
    func scopes() {
        let table: [AccessScope: Set<String>] = [
            .read: [
                "GET status", "GET resources", "GET resource", "POST resource", "GET explanation", "POST explanation",
                "GET events", "POST tickets", "GET openapi.json", "GET settings", "GET downloads",
                "GET resources/{id}", "GET resources/{id}/explanation", "GET readiness", "GET subscriptions",
                "GET evictions", "GET history",
                "GET resources/{id}/cover", "GET resources/{id}/chapters", "GET collections",
                "GET resources/{id}/subtitles",
            ],
            .play: [
                "GET content", "POST content", "POST links", "GET resources/{id}/content", "GET positions",
                "PUT resources/{id}/position", "GET languages",
            ],
            .metrics: ["GET session", "DELETE session"],
        ]
        var seen = 0
        for route in APIRoute.allCases {
            for method in route.methods {
                let what = "\(method == "HEAD" ? "GET" : method) \(route.rawValue)"
                let isOpen = what == "POST sessions"
                let expected = isOpen ? nil : table.first { $0.value.contains(what) }?.key ?? .admin
                #expect(route.scope(for: method) == expected, "\(what)")
                seen += expected == .admin ? 0 : 1
            }
        }
        #expect(seen >= 14, "premise: the table names routes that exist")
        #expect(Route.metrics.scope(for: "GET") == .metrics && Route.media.scope(for: "GET") == nil)
        #expect(AccessScope.allCases.sorted() == [.metrics, .read, .play, .admin])
    }

    @Test("A ticket is good once and for a minute, and the oldest of very many ends")
    func tickets() async throws {
        let vault = try await TestVault().open()
        let tickets = Tickets(of: vault.tokens)
        let now = ContinuousClock.now
        let (one, two) = (
            try tickets.issue(.events, for: nil, now: now), try tickets.issue(.events, for: nil, now: now)
        )
        #expect(one.text != two.text && one.lifetime == 60)
        #expect(tickets.redeem(one.text + "x", now: now) == nil && tickets.redeem("", now: now) == nil)
        #expect(tickets.redeem(one.text, now: now + .seconds(59)) != nil)
        #expect(tickets.redeem(one.text, now: now) == nil)
        #expect(tickets.redeem(two.text, now: now + .seconds(60)) == nil)
        let first = try tickets.issue(.events, for: nil, now: now)
        let later = try (0..<16).map { _ in try tickets.issue(.events, for: nil, now: now) }
        #expect(tickets.redeem(first.text, now: now) == nil)
        #expect(later.allSatisfy { tickets.redeem($0.text, now: now) != nil })
        await vault.close()
    }

    @Test("A token that asks for very many tickets ends its own, and no other's")
    func manyTickets() async throws {
        let test = try await TestVault()
        let vault = try await test.open()
        func access(_ number: Int) async throws -> TokenAccess {
            let token = try await vault.access.createToken(.read).text
            return try #require(vault.tokens.access(byToken: token, now: Int64(number)))
        }
        let tickets = Tickets(of: vault.tokens)
        let (one, other) = (try await access(1), try await access(2))
        let kept = try tickets.issue(.events, for: one)
        for _ in 0..<1000 { _ = try tickets.issue(.events, for: other) }
        #expect(tickets.redeem(kept.text)?.access == one)
        // The total number of tokens is limited, too.
        let first = try tickets.issue(.events, for: one)
        for number in 0..<16 {
            let access = try await access(number)
            for _ in 0..<16 { _ = try tickets.issue(.events, for: access) }
        }
        #expect(tickets.redeem(first.text) == nil)
        await vault.close()
    }

    @Test("A ticket ends with its token, and opens nothing but events")
    func ticketOfToken() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            let token = try await service.vault.access.createToken(.read)
            let fields: KeyValuePairs = ["Authorization": "Bearer \(token.text)"]
            func ticket() async throws -> String {
                let answer = try #require(
                    await service.client().ask("POST", "/api/v1/tickets", host: service.host, fields: fields))
                return try JSONText.read(TicketDocument.self, from: answer.body).ticket
            }
            func status(_ target: String) async throws -> Int? {
                let client = try service.client()
                await client.send("GET /api/v1/\(target) HTTP/1.1\r\nHost: \(service.host)\r\n\r\n")
                return await client.readHead()?.status
            }
            #expect(try await status("events?ticket=\(ticket())") == 200)
            #expect(try await status("status?ticket=\(ticket())") == 401)
            let late = try await ticket()
            try await service.vault.access.revoke([token.grant])
            #expect(try await status("events?ticket=\(late)") == 401)
        }
    }

    @Test("A feed of events ends when the token of its client is revoked, alone or with all others")
    func feed() async throws {
        for isAll in [false, true] {
            try await RunningService.run(over: try await TestVault()) { service in
                let (own, other) = (
                    try await service.vault.access.createToken(.read), try await service.vault.access.createToken(.read)
                )
                let client = try service.client()
                await client.send(
                    "GET /api/v1/events HTTP/1.1\r\nHost: \(service.host)\r\nConnection: close\r\n"
                        + "Authorization: Bearer \(own.text)\r\n\r\n")
                #expect(await client.readHead()?.status == 200)
                try await service.vault.access.revoke([other.grant])
                if isAll {
                    try await service.vault.keys.revokeLinks()
                } else {
                    try await service.vault.access.revoke([own.grant])
                }
                // If the feed continued, the test would exceed its time limit.
                #expect(String(decoding: await client.readToEnd(), as: UTF8.self).hasSuffix("0\r\n\r\n"))
            }
        }
    }

    @Test("A request whose token is revoked while its body arrives does nothing", arguments: [false, true])
    func slowBody(isAll: Bool) async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            let token = try await service.vault.access.createToken(.admin)
            let body = #"{"scope":"admin"}"#
            let client = try service.client()
            await client.send(
                "POST /api/v1/tokens HTTP/1.1\r\nHost: \(service.host)\r\nContent-Type: application/json\r\n"
                    + "Authorization: Bearer \(token.text)\r\nContent-Length: \(body.utf8.count)\r\n"
                    + "Expect: 100-continue\r\n\r\n")
            #expect(await client.readHead()?.status == 100, "premise: the head was accepted")
            if isAll {
                try await service.vault.keys.revokeLinks()
            } else {
                try await service.vault.access.revoke([token.grant])
            }
            let before = service.vault.access.issuedTokens.count
            await client.send(body)
            #expect(await client.readHead()?.status == 401)
            #expect(service.vault.access.issuedTokens.count == before)
        }
    }

    @Test("A named link ends at once on an open connection that plays from memory, with the links behind it")
    func namedLink() async throws {
        let list = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n../b/s.ts\n#EXT-X-ENDLIST\n"
        let origin = try ScriptedOrigin { [title] request in
            guard request.target == "/a/x.m3u8" else { return title.answer(to: request) }
            return ScriptedAnswer(
                200, fields: ["Content-Type": "application/vnd.apple.mpegurl", "Content-Length": "\(list.utf8.count)"],
                body: [.bytes(Array(list.utf8))])
        }
        defer { origin.stop() }
        try await RunningService.run(over: try await TestVault()) { service in
            let film = origin.url("/film.mp4")
            for try await _ in service.vault.download(film) {}
            let references = [MediaReference(film), MediaReference(origin.url("/a/x.m3u8"))]
            let links = try await service.vault.access.createLinks(named: "tv", to: references, expires: nil)
            let plain = service.target(film)
            let client = try service.client()
            func status(_ target: String) async -> Int? {
                await client.ask("GET", target, host: service.host, fields: ["Range": "bytes=0-9"])?.head.status
            }
            for _ in 0..<3 { #expect(await status(links.paths[0]) == 206) }
            let playlist = try #require(await client.ask("GET", links.paths[1], host: service.host))
            let segment = try #require(
                String(decoding: playlist.body, as: UTF8.self).split(separator: "\n").first { $0.hasSuffix("/b/s.ts") })
            #expect(segment.hasPrefix("/media/never."))
            #expect(await status(String(segment)) == 206)
            try await service.vault.access.revoke([links.grant])
            #expect(await status(links.paths[0]) == 404)
            #expect(await status(String(segment)) == 404)
            #expect(await status(plain) == 206)
        }
    }
}
