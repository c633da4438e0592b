import OriginServer
import VaultModel

/// The checks of what a transport sends.
enum RequestChecks {
    private static let resource = ScriptedResource(length: 1000)

    static func target(_ trial: Trial) async throws {
        let server = try ScriptedOrigin(resource)
        let target = "/a//b%2Fc/;d/%C3%A9/%7e?x=%20&y=1+2&z=/../%41"
        let url = try MediaURL("http://127.0.0.1:\(server.port)\(target)")
        _ = await trial.receive(OriginRequest(url: url), from: trial.origin())
        trial.expect(server.exchanges.map(\.request.target), is: [target], "the target of the request")
        trial.expect(
            server.exchanges.map { $0.request.fields.values("Host") }, is: [["127.0.0.1:\(server.port)"]],
            "the fields Host")
    }

    static func range(_ trial: Trial) async throws {
        let server = try ScriptedOrigin { request in
            request.target == "/moved" ? .redirect(to: "/film.mp4") : resource.answer(to: request)
        }
        let origin = await trial.origin()
        let cases: [(first: Int64?, end: Int64?, field: [String])] = [
            (nil, nil, []), (0, nil, ["bytes=0-"]), (0, 1, ["bytes=0-0"]), (10, nil, ["bytes=10-"]),
            (10, 20, ["bytes=10-19"]), (2000, 3000, ["bytes=2000-2999"]),
        ]
        for (first, end, field) in cases {
            for target in ["/film.mp4", "/moved"] {
                let count = server.exchanges.count
                _ = await trial.receive(OriginRequest(url: server.url(target), first: first, end: end), from: origin)
                let sent = server.exchanges.dropFirst(count).map { $0.request.fields.values("Range") }
                trial.expect(
                    !sent.isEmpty && sent.allSatisfy { $0 == field },
                    "the fields Range to be \(field), at \(target)\(target == "/moved" ? " and where it leads" : "")",
                    happened: "they were \(sent)")
            }
        }
    }

    static func conditions(_ trial: Trial) async throws {
        let server = try ScriptedOrigin { request in
            request.target == "/moved" ? .redirect(to: "/film.mp4") : resource.answer(to: request)
        }
        let origin = await trial.origin()
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let (both, ofDate) = (
            Validators(entityTag: EntityTag(strong: "v0"), lastModified: date), Validators(lastModified: date)
        )
        let names = ["If-Range", "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since"]
        for target in ["/film.mp4", "/moved"] {
            let url = server.url(target)
            let cases: [(request: OriginRequest, fields: [[String]])] = [
                (OriginRequest(url: url), [[], [], [], [], []]),
                (OriginRequest(url: url, first: 1, ifRange: "\"v1\""), [["\"v1\""], [], [], [], []]),
                (OriginRequest(url: url, first: 1, ifRange: date), [[date], [], [], [], []]),
                (OriginRequest(url: url, ifChangedFrom: both), [[], ["\"v0\""], [date], [], []]),
                (OriginRequest(url: url, method: .head, ifChangedFrom: ofDate), [[], [], [date], [], []]),
            ]
            for (request, fields) in cases {
                let count = server.exchanges.count
                _ = await trial.receive(request, from: origin)
                trial.expect(count + (target == "/moved" ? 2 : 1), requestsAt: server)
                for exchange in server.exchanges.dropFirst(count) {
                    let sent = names.map { exchange.request.fields.values($0) }
                    trial.expect(sent, is: fields, "the fields \(names.joined(separator: ", "))")
                }
            }
        }
    }

    static func fields(_ trial: Trial) async throws {
        let server = try ScriptedOrigin(resource)
        let origin = await trial.origin()
        let given: HeaderFields = [
            "X-Token": "t", "Authorization": "Bearer b+/=", "Cookie": "a=1; b=2", "X-Empty": "",
            "Accept-Language": "de, en;q=0.5",
        ]
        for method in [OriginRequest.Method.get, .head] {
            _ = await trial.receive(OriginRequest(url: server.url(), method: method, fields: given), from: origin)
        }
        trial.expect(server.exchanges.map(\.request.method), is: ["GET", "HEAD"], "the methods")
        for exchange in server.exchanges {
            for field in given.fields {
                trial.expect(
                    exchange.request.fields.values(field.name), is: [field.value], "the fields \(field.name)")
            }
        }
    }

    static func identity(_ trial: Trial) async throws {
        let server = try ScriptedOrigin(resource)
        let origin = await trial.origin()
        for first in [nil, 10] as [Int64?] {
            _ = await trial.receive(OriginRequest(url: server.url(), first: first), from: origin)
        }
        trial.expect(2, requestsAt: server)
        for exchange in server.exchanges {
            trial.expect(
                exchange.request.fields.values("Accept-Encoding"), is: ["identity"], "the fields Accept-Encoding")
        }
    }

    static func cookies(_ trial: Trial) async throws {
        let server = try ScriptedOrigin { request in
            var answer = resource.answer(to: request)
            answer.set("Set-Cookie", "a=1; Path=/; Max-Age=3600")
            return answer
        }
        let origin = await trial.origin()
        for _ in 0..<2 { _ = await trial.receive(OriginRequest(url: server.url()), from: origin) }
        trial.expect(2, requestsAt: server)
        for exchange in server.exchanges {
            trial.expect(exchange.request.fields.values("Cookie"), is: [], "the fields Cookie")
        }
    }

    static func cache(_ trial: Trial) async throws {
        let server = try ScriptedOrigin { request in
            var answer = ScriptedResource(seed: UInt64(request.number), length: 1000).answer(to: request)
            answer.set("Cache-Control", "public, max-age=31536000, immutable")
            answer.set("Date", HTTPDate(seconds: WallClock.now())?.description)
            return answer
        }
        let origin = await trial.origin()
        for number in 0..<2 {
            let reception = await trial.receive(OriginRequest(url: server.url()), from: origin)
            trial.expect(number + 1, requestsAt: server)
            let sent = PseudoRandomMedia(seed: UInt64(number), length: 1000).bytes(0..<1000)
            trial.expect(reception, brings: 200, sent, "request \(number + 1) for one URL")
        }
    }
}
