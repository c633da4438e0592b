import OriginServer
import VaultModel

/// The checks of how a transport reports that there is no answer.
enum FailureChecks {
    static func missingAnswers(_ trial: Trial) async throws {
        let origin = await trial.origin()
        let closed = try ClosedPort()
        let refused = await trial.receive(OriginRequest(url: closed.url), from: origin)
        trial.expect(refused, failsBy: [.unreachable], "a request to a port that refuses connections")
        let silent = try Self.silent()
        let reception = await trial.receive(OriginRequest(url: silent.url()), from: origin)
        trial.expect(silent.exchanges.isEmpty, is: false, "whether the request came")
        trial.expect(reception, failsBy: [.unreachable, .interrupted], "a request whose connection ends unanswered")
    }

    static func invalidHTTP(_ trial: Trial) async throws {
        let server = try ScriptedOrigin { _ in .raw("SSH-2.0-OpenSSH_9.9\r\n\r\n") }
        let reception = await trial.receive(OriginRequest(url: server.url()), from: trial.origin())
        trial.expect(reception, failsBy: [.invalidResponse], "an answer in another protocol")
    }

    static func retries(_ trial: Trial) async throws {
        let origin = await trial.origin()
        let server = try Self.silent()
        _ = await trial.receive(OriginRequest(url: server.url()), from: origin)
        let busy = try ScriptedOrigin { _ in
            ScriptedAnswer(503, fields: ["Content-Length": "0", "Retry-After": "0"])
        }
        _ = await trial.receive(OriginRequest(url: busy.url()), from: origin)
        for (server, what) in [(server, "is not answered"), (busy, "is answered with HTTP 503")] {
            let count = server.exchanges.count
            trial.expect(
                (1...2).contains(count), "a request that \(what) once or twice", happened: "\(count) came")
        }
    }

    static func secrets(_ trial: Trial) async throws {
        let origin = await trial.origin()
        let fields: HeaderFields = ["Authorization": "Bearer seKret", "X-Token": "seKret"]
        let silent = try Self.silent()
        let garbage = try ScriptedOrigin { _ in .raw("seKret\r\n\r\n") }
        let closed = try ClosedPort()
        for port in [silent.port, garbage.port, closed.url.effectivePort] {
            let url = try MediaURL("http://127.0.0.1:\(port)/film.mp4?token=seKret")
            let reception = await trial.receive(OriginRequest(url: url, fields: fields), from: origin)
            let text = reception.error.map { "\($0) \(String(reflecting: $0))" } ?? ""
            trial.expect(
                !text.contains("seKret"), "a failure without the query and the values of fields",
                happened: "it has one of them")
        }
    }

    /// A server that closes each connection when a request has come.
    private static func silent() throws -> ScriptedOrigin {
        try ScriptedOrigin { _ in
            var answer = ScriptedAnswer(200)
            answer.before = [.close]
            return answer
        }
    }
}
