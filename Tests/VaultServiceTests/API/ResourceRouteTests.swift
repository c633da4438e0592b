import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Resources by their ids, and lists of them", .timeLimit(.minutes(5)))
struct ResourceRouteTests {
    private func serving(_ body: @escaping @Sendable (RunningService, ScriptedOrigin) async throws -> Void) async throws
    {
        let origin = try ScriptedOrigin(ScriptedResource(length: 1000))
        defer { origin.stop() }
        try await RunningService.run(over: try await TestVault(), hasControl: true) { try await body($0, origin) }
    }

    private func list(_ service: RunningService, _ query: String) async throws -> PageDocument {
        let answer = try await service.control("GET", "/api/v1/resources?\(query)")
        #expect(answer.head.status == 200, "\(query): \(String(decoding: answer.body, as: UTF8.self))")
        #expect(try SchemaCheck.faults(of: answer.body, "Page") == [])
        return try JSONText.read(from: answer.body)
    }

    private func fetch(_ name: String, _ length: Int64, from origin: ScriptedOrigin, into vault: Vault) async throws {
        let resource = ScriptedResource(length: length)
        origin.answer { resource.answer(to: $0) }
        for try await _ in vault.download(origin.url("/\(name)")) {}
    }

    @Test("A player's link to what was removed is answered with 404, and asks no origin, until its owner makes a link")
    func oldLink() async throws {
        try await serving { service, origin in
            try await fetch("film.mp4", 1000, from: origin, into: service.vault)
            let url = origin.url("/film.mp4")
            let id = try #require(try await list(service, "").resources.first?.id)
            #expect(try await service.ask("GET", url)?.head.status == 200)
            #expect(try await service.control("DELETE", "/api/v1/resources/\(id)").head.status == 200)
            let asked = origin.exchanges.count
            for method in ["GET", "HEAD"] { #expect(try await service.ask(method, url)?.head.status == 404) }
            #expect(origin.exchanges.count == asked)
            #expect(try await list(service, "").resources.isEmpty)
            let made = try await service.control("POST", "/api/v1/links", body: #"{"url":"\#(url)"}"#)
            #expect(made.head.status == 200)
            #expect(try await service.ask("GET", url)?.head.status == 200)
        }
    }

    @Test("Named links go with the titles that were removed or shredded, and stay with one that could not be")
    func links() async throws {
        try await serving { service, origin in
            let vault = service.vault
            // Titles of the same second have no order.
            func names() -> Set<String?> { Set(vault.access.issuedLinks.map(\.name)) }
            for name in ["one", "two"] { try await fetch("\(name).mp4", 1000, from: origin, into: vault) }
            for name in ["one", "two", "gone"] {
                let reference = MediaReference(origin.url("/\(name).mp4"))
                _ = try await vault.access.createLinks(named: name, to: [reference], expires: nil)
            }
            let gone = #"{"url":"\#(origin.url("/gone.mp4"))","links":true}"#
            #expect(try await service.control("POST", "/api/v1/removals", body: gone).head.status != 200)
            #expect(names() == ["one", "two", "gone"])
            let both = ["one", "gone"].map { #"{"url":"\#(origin.url("/\($0).mp4"))"}"# }.joined(separator: ",")
            let shred = #"{"resources":[\#(both)],"quick":true,"links":true}"#
            #expect(try await service.control("POST", "/api/v1/shreds", body: shred).head.status == 200)
            #expect(names() == ["two", "gone"])
            let order = #"{"url":"\#(origin.url("/two.mp4"))","links":true}"#
            #expect(try await service.control("POST", "/api/v1/removals", body: order).head.status == 200)
            #expect(names() == ["gone"])
        }
    }

    @Test("A removal by id whose links are neither true nor false is refused, and removes nothing")
    func strangeLinks() async throws {
        try await serving { service, origin in
            try await fetch("film.mp4", 1000, from: origin, into: service.vault)
            let id = try #require(try await list(service, "").resources.first?.id)
            let path = "/api/v1/resources/\(id)?links="
            for odd in ["1", "", "yes", "TRUE"] {
                #expect(try await service.control("DELETE", path + odd).head.status == 400, "\(odd)")
            }
            #expect(try await list(service, "").resources.count == 1)
            #expect(try await service.control("DELETE", path + "false").head.status == 200)
            #expect(try await list(service, "").resources.isEmpty)
        }
    }

    @Test("A resource is read, pinned, named, set and removed by its id in the path")
    func byID() async throws {
        try await serving { service, origin in
            try await fetch("film.mp4", 1000, from: origin, into: service.vault)
            let id = try #require(try await list(service, "").resources.first?.id)
            func ask(_ method: String, _ rest: String = "", body: String = "", status: Int = 200) async throws
                -> [UInt8]
            {
                let answer = try await service.control(method, "/api/v1/resources/\(id)\(rest)", body: body)
                #expect(answer.head.status == status, "\(method) \(rest)")
                return answer.body
            }
            func now() async throws -> ResourceSummary { try JSONText.read(from: try await ask("GET")) }
            #expect(try await ask("GET", "/content") == ScriptedResource(length: 1000).media.bytes(0..<1000))
            #expect(try await SchemaCheck.faults(of: ask("GET", "/explanation"), "Explanation") == [])
            _ = try await ask("PUT", "/pin")
            _ = try await ask("PUT", "/name", body: #"{"name":"A film"}"#)
            _ = try await ask("PUT", "/mode", body: #"{"mode":"offline"}"#)
            var told = try await now()
            #expect(told.resourceClass == "pinned" && told.name == "A film" && told.mode == .offline)
            for part in ["/pin", "/name", "/mode"] { _ = try await ask("DELETE", part) }
            told = try await now()
            #expect(told.resourceClass == "download" && told.name == nil && told.mode == nil)
            for (method, rest) in [("POST", ""), ("GET", "/pin"), ("DELETE", "/content"), ("PUT", "")] {
                _ = try await ask(method, rest, status: 405)
            }
            for rest in ["/", "/pins", "/pin/", "//pin"] {
                _ = try await ask("GET", rest, status: 404)
            }
            _ = try await ask("PUT", "/name", body: #"{"name":1}"#, status: 400)
            #expect(try await SchemaCheck.faults(of: ask("DELETE"), "Removal") == [])
            for (method, rest) in [("GET", ""), ("DELETE", ""), ("PUT", "/pin")] {
                _ = try await ask(method, rest, status: 404)
            }
            for other in ["x", "AAAAAAAA", "{id}", ""] {
                #expect(try await service.control("GET", "/api/v1/resources/\(other)").head.status == 404)
            }
        }
    }

    @Test("A list is sorted, filtered and searched, and its pages have each title once")
    func sorted() async throws {
        try await serving { service, origin in
            for (name, length) in [("b.mp4", 300), ("a.mp4", 200), ("d.mp4", 100), ("c.mp4", 400)] as [(String, Int64)]
            {
                try await fetch(name, length, from: origin, into: service.vault)
            }
            try await service.vault.titles.pin(MediaReference(origin.url("/d.mp4")))
            func names(_ query: String) async throws -> String {
                try await list(service, query).resources.map { String($0.url.suffix(5).first ?? "?") }.joined()
            }
            #expect(try await names("sort=name") == "abcd")
            #expect(try await names("sort=size") == "cbad")
            #expect(try await names("sort=size&limit=2") == "cb")
            #expect(try await names("filter=pinned") == "d")
            #expect(try await names("search=C.MP4") == "c")
            #expect(try await names("search=nothing") == "")
            #expect(try await names("sort=size&filter=held&search=mp4") == "cbad")
            var (seen, next): (String, String?) = ("", nil)
            repeat {
                let page = try await list(service, "sort=size&limit=1" + (next.map { "&after=\($0)" } ?? ""))
                seen += page.resources.map { String($0.url.suffix(5).first ?? "?") }.joined()
                next = page.next
                // A page whose last title is gone continues from that title's place.
                if seen == "cb" { try await service.vault.titles.remove(MediaReference(origin.url("/b.mp4"))) }
            } while next != nil
            #expect(seen == "cbad")
            for query in [
                "sort=colour", "filter=old", "sort=name&after=x", "sort=name&after=aaaaaaaa-x", "limit=0&sort=name",
            ] {
                #expect(try await service.control("GET", "/api/v1/resources?\(query)").head.status == 400, "\(query)")
            }
        }
    }

    @Test("A page of a sorted list shows what has changed since the page before it")
    func changedBetweenPages() async throws {
        try await serving { service, origin in
            let vault = service.vault
            for name in ["a", "c", "d", "f"] { try await fetch("\(name).mp4", 100, from: origin, into: vault) }
            func page(after next: String?) async throws -> PageDocument {
                try await list(service, "sort=name&limit=1" + (next.map { "&after=\($0)" } ?? ""))
            }
            let first = try await page(after: nil)
            #expect(first.resources.map(\.url) == ["\(origin.url("/a.mp4"))"])
            try await fetch("b.mp4", 100, from: origin, into: vault)
            try await vault.titles.remove(MediaReference(origin.url("/c.mp4")))
            try await vault.titles.setName("Zebra", of: MediaReference(origin.url("/d.mp4")))
            var (names, next): ([String], String?) = ([], first.next)
            while next != nil {
                let further = try await page(after: next)
                names += further.resources.map { $0.name ?? String($0.url.suffix(5)) }
                next = further.next
            }
            #expect(names == ["b.mp4", "f.mp4", "Zebra"])
            // What began as one listing goes on as another, from the place of its own last page.
            try await vault.titles.setName("Yak", of: MediaReference(origin.url("/f.mp4")))
            #expect(try await page(after: first.next).resources.map(\.url) == ["\(origin.url("/b.mp4"))"])
        }
    }

    @Test(
        "A member that a request does not know is refused by its name",
        arguments: [
            ("POST", "modes", #"{"url":"http://a.example/f","mode":"default","pinned":true}"#, "the member pinned"),
            ("POST", "removals", #"{"ids":["a"]}"#, "the member ids"),
            ("PATCH", "settings", #"{"maxsize":1}"#, "the member maxsize"),
            ("POST", "verifications", #"{"resources":[{"url":"http://a.example/f","uri":"x"}]}"#, "the member uri"),
            ("POST", "shreds", #"{"resources":[{"url":"http://a.example/f"}],"Quick ":true}"#, "has a member,"),
            ("POST", "rotations", #"{"root":true,"slots":[{"method":"key-file","file":"x"}]}"#, "the member file"),
        ])
    func unknownMembers(method: String, route: String, body: String, says: String) async throws {
        try await serving { service, _ in
            let answer = try await service.control(method, "/api/v1/\(route)", body: body)
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(answer.head.status == 400 && text.contains(says), "\(text)")
        }
    }

    @Test("A body of very deep arrays is refused like any other")
    func deepBody() async throws {
        try await serving { service, _ in
            for depth in [20, 400, 5000] {
                let deep = String(repeating: "[", count: depth) + "0,0" + String(repeating: "]", count: depth)
                let body = #"{"url":"http://a.example/f","junk":\#(deep)}"#
                let answer = try await service.control("POST", "/api/v1/resource", body: body)
                #expect(answer.head.status == 400, "\(depth)")
            }
        }
    }

    @Test("Members with names of the client's own are no unknown members")
    func freeMembers() async throws {
        try await serving { service, _ in
            let body = #"{"ignoreQuery":{"a.example":["token"]},"mapHost":{"b.example":null},"maxSize":"5GB"}"#
            #expect(try await service.control("PATCH", "/api/v1/settings", body: body).head.status == 200)
            let fields = #"{"url":"http://a.example/f","fields":[["X-Own","1"]]}"#
            let answer = try await service.control("POST", "/api/v1/resource", body: fields)
            #expect(answer.head.status == 404, "\(String(decoding: answer.body, as: UTF8.self))")
        }
    }
}
