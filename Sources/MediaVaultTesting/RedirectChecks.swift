import OriginServer
import VaultModel

/// The checks of how a transport follows redirects.
enum RedirectChecks {
    private static let resource = ScriptedResource(length: 1000)
    private static let bytes = resource.media.bytes(0..<1000)

    static func follow(_ trial: Trial) async throws {
        let origin = await trial.origin()
        for status in [301, 302, 303, 307, 308] {
            let server = try ScriptedOrigin { request in
                request.target == "/film.mp4"
                    ? .redirect(status, to: "real.mp4?token=1") : resource.answer(to: request)
            }
            let get = OriginRequest(url: server.url(), fields: ["X-Token": "t"])
            trial.expect(await trial.receive(get, from: origin), brings: 200, bytes, "GET that \(status) redirects")
            let head = OriginRequest(url: server.url(), method: .head, fields: ["X-Token": "t"])
            trial.expect(await trial.receive(head, from: origin), brings: 200, [], "HEAD that \(status) redirects")
            let sent = server.exchanges.map(\.request)
            trial.expect(
                sent.map { "\($0.method) \($0.target) \($0.fields["X-Token"] ?? "-")" },
                is: ["GET /film.mp4 t", "GET /real.mp4?token=1 t", "HEAD /film.mp4 t", "HEAD /real.mp4?token=1 t"],
                "the requests, with the field X-Token,")
        }
        let chain = try ScriptedOrigin { request in
            let step = Int(request.target.dropFirst()) ?? 0
            return step < 5 ? .redirect(to: "/\(step + 1)") : resource.answer(to: request)
        }
        let end = await trial.receive(OriginRequest(url: chain.url("/0")), from: origin)
        trial.expect(end, brings: 200, bytes, "five redirects in a row")
        let nowhere = try ScriptedOrigin { _ in ScriptedAnswer(302, fields: ["Content-Length": "0"]) }
        let answer = await trial.receive(OriginRequest(url: nowhere.url()), from: origin)
        trial.expect(answer, brings: 302, [], "a redirect without Location")
    }

    static func loops(_ trial: Trial) async throws {
        let server = try ScriptedOrigin { .redirect(to: "/\($0.number)") }
        let reception = await trial.receive(OriginRequest(url: server.url()), from: trial.origin())
        trial.expect(reception, failsBy: [.invalidResponse], "redirects without end")
        let count = server.exchanges.count
        trial.expect(count <= 50, "at most 50 requests", happened: "\(count) came")
    }

    static func schemes(_ trial: Trial) async throws {
        let origin = await trial.origin()
        for target in ["file:///etc/hosts", "ftp://127.0.0.1/film.mp4", "data:text/plain,x"] {
            let server = try ScriptedOrigin { _ in .redirect(to: target) }
            let reception = await trial.receive(OriginRequest(url: server.url()), from: origin)
            trial.expect(reception, failsBy: [.invalidResponse], "a redirect to \(target)")
        }
    }

    static func location(_ trial: Trial) async throws {
        let server = try ScriptedOrigin(resource)
        let port = server.port
        server.answer { request in
            switch request.target {
            case "/relative": .redirect(to: "real.mp4?token=1")
            case "/credentials": .redirect(to: "http://user:pass@127.0.0.1:\(port)/real.mp4?token=1")
            default: resource.answer(to: request)
            }
        }
        let origin = await trial.origin()
        let there = "/real.mp4?token=1"
        for (target, there) in [("/film.mp4", nil), ("/relative", there), ("/credentials", there)] {
            let head = await trial.receive(OriginRequest(url: server.url(target)), from: origin).head
            let (location, expected) = (head?.location, there.map { server.url($0) })
            trial.expect(location?.absoluteString, is: expected?.absoluteString, "the location after \(target)")
            trial.expect(location?.hasCredentials ?? false, is: false, "a user name in the location after \(target)")
        }
    }

    static func permanentMove(_ trial: Trial) async throws {
        let origin = await trial.origin()
        let cases: [(statuses: [Int], movedTo: String?)] = [
            ([], nil), ([301], "/1"), ([308, 301], "/2"), ([301, 302], "/1"), ([301, 307, 301], "/1"),
            ([302, 301], nil), ([303], nil),
        ]
        for (statuses, movedTo) in cases {
            let server = try ScriptedOrigin { request in
                let step = Int(request.target.dropFirst()) ?? 0
                return step < statuses.count
                    ? .redirect(statuses[step], to: "/\(step + 1)") : resource.answer(to: request)
            }
            let head = await trial.receive(OriginRequest(url: server.url("/0")), from: origin).head
            trial.expect(
                head?.movedTo?.absoluteString, is: movedTo.map { server.url($0).absoluteString },
                "movedTo after \(statuses)")
        }
    }

    static func secrets(_ trial: Trial) async throws {
        let secrets: HeaderFields = ["Authorization": "Bearer b", "Cookie": "c=1", "X-Token": "t"]
        let origin = await trial.origin(allowing: Trial.thisMachine)
        // Another port on the same host, and another host at the same port; there it ends, or leads back.
        for (host, target) in [
            ("127.0.0.1", "/there"), ("127.0.0.1", "/thereAndBack"), ("localhost", "/there"),
            ("localhost", "/thereAndBack"),
        ] {
            let (home, away) = (try ScriptedOrigin(resource), try ScriptedOrigin(resource))
            let back = home.url("/back").absoluteString
            let there = "http://\(host):\(host == "localhost" ? home.port : away.port)\(target)"
            let script: @Sendable (ScriptedRequest) -> ScriptedAnswer = { request in
                switch request.target {
                case "/film.mp4": .redirect(to: there)
                case "/thereAndBack": .redirect(to: back)
                default: resource.answer(to: request)
                }
            }
            home.answer(with: script)
            away.answer(with: script)
            _ = await trial.receive(OriginRequest(url: home.url(), fields: secrets), from: origin)
            let requests = (home.exchanges + away.exchanges).map(\.request)
            guard requests.contains(where: { $0.target == target }) else {
                trial.giveUp("it follows no redirect from 127.0.0.1 to another port, or to localhost")
                continue
            }
            for request in requests where request.target != "/film.mp4" {
                let sent = secrets.fields.map(\.name).filter { request.fields[$0] != nil }
                let place = request.target == target ? "at another origin" : "back at the first origin"
                trial.expect(sent, is: [], "the request's own fields \(place)")
            }
        }
    }
}
