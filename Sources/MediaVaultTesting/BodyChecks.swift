import OriginServer
import VaultModel

/// The checks of where a transport sees a body end.
enum BodyChecks {
    private static let resource = ScriptedResource(length: 200_000)
    private static let bytes = resource.media.bytes(0..<200_000)

    static func framings(_ trial: Trial) async throws {
        let origin = await trial.origin()
        let server = try ScriptedOrigin { request in
            var answer = resource.answer(to: request)
            switch request.target {
            case "/chunks": answer.sendInChunks()
            case "/close": answer.sendUntilClose()
            case "/trailer":
                return .raw(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n002;a=b\r\nab\r\n0\r\nX-Trailer: 1\r\n\r\n")
            case "/empty": return ScriptedAnswer(200, fields: ["Content-Length": "0"])
            default: break
            }
            return answer
        }
        let cases: [(target: String, body: [UInt8])] = [
            ("/length", bytes), ("/chunks", bytes), ("/close", bytes), ("/trailer", Array("ab".utf8)), ("/empty", []),
        ]
        for (target, body) in cases {
            let response = try await origin.send(OriginRequest(url: server.url(target)))
            var reception = Reception(head: response.head)
            await reception.read(response)
            trial.expect(reception, brings: 200, body, "the body at \(target)")
            guard reception.error == nil else { continue }
            for _ in 0..<2 { trial.expect(try await response.nextBytes(), is: nil, "what comes after the body's end") }
        }
    }

    static func noBody(_ trial: Trial) async throws {
        let origin = await trial.origin()
        let server = try ScriptedOrigin { request in
            let status = request.method == "HEAD" ? 200 : Int(request.target.dropFirst()) ?? 200
            return ScriptedAnswer(status, fields: status == 204 ? [:] : ["Content-Length": "1000"])
        }
        let date = Validators(lastModified: "Sun, 06 Nov 1994 08:49:37 GMT")
        let cases: [(request: OriginRequest, status: Int)] = [
            (OriginRequest(url: server.url("/film.mp4"), method: .head), 200),
            (OriginRequest(url: server.url("/304"), ifChangedFrom: date), 304),
            (OriginRequest(url: server.url("/204")), 204),
        ]
        for (request, status) in cases {
            let what = "\(request.method) with HTTP \(status)"
            let reception = await trial.receive(request, from: origin)
            trial.expect(reception, brings: status, [], what)
            guard request.method == .head else { continue }
            trial.expect(reception.head?.fields["Content-Length"], is: "1000", "Content-Length after HEAD")
        }
    }

    static func excess(_ trial: Trial) async throws {
        let origin = await trial.origin()
        let server = try ScriptedOrigin { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nxyzz") }
        for _ in 0..<2 {
            let reception = await trial.receive(OriginRequest(url: server.url()), from: origin)
            trial.expect(reception, brings: 200, Array("xy".utf8), "a body of 4 bytes with the length 2")
        }
    }

    static func short(_ trial: Trial) async throws {
        let origin = await trial.origin()
        let server = try ScriptedOrigin { request in
            var answer = resource.answer(to: request)
            if request.target == "/chunks" { answer.sendInChunks() }
            answer.cut(at: 70_000, by: request.target == "/reset" ? .reset : .close)
            return answer
        }
        for target in ["/length", "/chunks", "/reset"] {
            let reception = await trial.receive(OriginRequest(url: server.url(target)), from: origin)
            trial.expect(reception, failsBy: [.interrupted], "the body at \(target), which breaks off,")
            trial.expect(
                bytes.starts(with: reception.bytes), "only bytes that were sent",
                happened: "others came before the end")
        }
    }
}
