import OriginServer
import VaultModel

/// The checks of how a transport passes on the head of an answer.
enum HeadChecks {
    private static let media = ScriptedResource(length: 1000).media

    static func statuses(_ trial: Trial) async throws {
        let server = try ScriptedOrigin { request in
            let status = Int(request.target.dropFirst()) ?? 0
            var answer = ScriptedAnswer(status, fields: ["Content-Length": "2", "Retry-After": "7"])
            answer.set("WWW-Authenticate", status == 401 ? "Basic realm=\"x\"" : nil)
            answer.body = [.bytes([1, 2])]
            return answer
        }
        let origin = await trial.origin()
        for status in [200, 203, 400, 401, 403, 404, 405, 410, 416, 418, 429, 451, 500, 501, 502, 503, 504] {
            let reception = await trial.receive(OriginRequest(url: server.url("/\(status)")), from: origin)
            trial.expect(reception, brings: status, [1, 2], "HTTP \(status)")
            trial.expect(reception.head?.fields["Retry-After"], is: "7", "Retry-After of HTTP \(status)")
        }
    }

    static func rangeAnswers(_ trial: Trial) async throws {
        let cases: [(status: Int, field: String?, type: String, length: Int64)] = [
            (206, "bytes 10-19/1000", "video/mp4", 10), (206, "bytes 10-14/*", "video/mp4", 5),
            (206, "bytes 500-599/1000", "video/mp4", 100), (206, nil, "video/mp4", 10),
            (200, nil, "video/mp4", 1000), (416, "bytes */5", "text/plain", 3),
            (206, nil, "multipart/byteranges; boundary=x", 300),
        ]
        let origin = await trial.origin()
        for (status, field, type, length) in cases {
            let server = try ScriptedOrigin { _ in
                var answer = ScriptedAnswer(status, fields: ["Content-Type": type, "Content-Length": "\(length)"])
                answer.set("Content-Range", field)
                answer.body = [.media(media, 0..<length)]
                return answer
            }
            let reception = await trial.receive(OriginRequest(url: server.url(), first: 10, end: 20), from: origin)
            let what = "HTTP \(status) with Content-Range \(field ?? "missing"), in answer to bytes 10-19,"
            trial.expect(reception, brings: status, media.bytes(0..<length), what)
            trial.expect(reception.head?.fields.values("Content-Range"), is: field.map { [$0] } ?? [], "Content-Range")
            trial.expect(reception.head?.fields["Content-Type"], is: type, "Content-Type")
        }
    }

    static func repeatedFields(_ trial: Trial) async throws {
        let server = try ScriptedOrigin { _ in
            ScriptedAnswer(
                200,
                fields: [
                    "Content-Length": "0", "X-A": "1", "Link": "<a>; rel=x", "x-a": "2, 3", "Link": "<b>",
                    "Set-Cookie": "a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT", "X-A": "1", "Set-Cookie": "b=2",
                ])
        }
        let reception = await trial.receive(OriginRequest(url: server.url()), from: trial.origin())
        let lists = [
            "X-A": "1, 2, 3, 1", "Link": "<a>; rel=x, <b>",
            "Set-Cookie": "a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT, b=2",
        ]
        for (name, list) in lists.sorted(by: { $0.key < $1.key }) {
            // One field with a list means the same as several (RFC 9110 §5.3).
            let came = (reception.head?.fields.values(name) ?? []).flatMap { $0.split(separator: ",") }
                .map { String($0.trimmingBlanks()) }
            trial.expect(came.joined(separator: ", "), is: list, "the values of \(name)")
        }
    }

    static func contentCoding(_ trial: Trial) async throws {
        // "hello", in a block that is not compressed (RFC 1951 §3.2.4).
        let hello: [UInt8] =
            [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1, 5, 0, 0xFA, 0xFF] + Array("hello".utf8)
            + [0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0]
        let origin = await trial.origin()
        // Some origins state a coding that their bytes do not have.
        for (coding, bytes) in [("gzip", hello), ("gzip", [1, 2, 3]), ("x-gzip", hello), ("deflate", [4, 5])] {
            let server = try ScriptedOrigin { _ in
                ScriptedAnswer(
                    200, fields: ["Content-Encoding": coding, "Content-Length": "\(bytes.count)"],
                    body: [.bytes(bytes)])
            }
            let reception = await trial.receive(OriginRequest(url: server.url()), from: origin)
            // What a transport cannot but decode, the vault refuses by the field.
            guard reception.failure != .invalidResponse else { continue }
            trial.expect(reception.head?.fields["Content-Encoding"], is: coding, "Content-Encoding")
            // Where the field is kept, the vault refuses the answer, whatever became of the bytes.
            trial.expect(reception.head?.status, is: 200, "the status with Content-Encoding \(coding)")
        }
    }

    static func interimAnswers(_ trial: Trial) async throws {
        let server = try ScriptedOrigin { _ in
            .raw(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nX-Interim: 1\r\nContent-Length: 9\r\n\r\n"
                    + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab")
        }
        let reception = await trial.receive(OriginRequest(url: server.url()), from: trial.origin())
        trial.expect(reception, brings: 200, Array("ab".utf8), "an answer after interim ones")
        trial.expect(reception.head?.fields["X-Interim"], is: nil, "a field of the interim answer")
    }

    static func largeHead(_ trial: Trial) async throws {
        let server = try ScriptedOrigin { request in
            var answer = ScriptedResource(length: 1000).answer(to: request)
            for number in 0..<96 { answer.set("X-\(number)", String(repeating: "x", count: 140)) }
            return answer
        }
        let reception = await trial.receive(OriginRequest(url: server.url()), from: trial.origin())
        trial.expect(reception, brings: 200, media.bytes(0..<1000), "an answer with a head of 15 KiB")
        trial.expect(
            reception.head?.fields["X-95"], is: String(repeating: "x", count: 140), "the last of 96 further fields")
    }

    static func hugeHead(_ trial: Trial) async throws {
        let field = "X: " + String(repeating: "x", count: 1000) + "\r\n"
        let server = try ScriptedOrigin { _ in
            .raw("HTTP/1.1 200 OK\r\n" + String(repeating: field, count: 4000) + "Content-Length: 0\r\n\r\n")
        }
        let reception = await trial.receive(OriginRequest(url: server.url()), from: trial.origin())
        trial.expect(
            reception, failsBy: [.invalidResponse, .interrupted, .unreachable], "an answer with a head of 4 MB")
    }
}
