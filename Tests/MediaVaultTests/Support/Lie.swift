import OriginTestSupport
import Testing
import VaultModel

/// An invalid answer to a request, derived from the right one.
struct Lie: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let spoil: @Sendable (inout ScriptedAnswer, ScriptedRequest) -> Void

    init(_ name: String, _ spoil: @escaping @Sendable (inout ScriptedAnswer, ScriptedRequest) -> Void) {
        testDescription = name
        self.spoil = spoil
    }

    /// Creates an invalid answer that differs in one field.
    init(_ name: String, _ field: String, _ value: String?) {
        self.init(name) { answer, _ in answer.set(field, value) }
    }

    static let length: Int64 = 300_000

    /// Invalid answers about a part: the requested range starts at byte 0 or at 100 000.
    static let aboutRanges = [
        Lie("206 for an earlier range", "Content-Range", "bytes 0-49999/300000"),
        Lie("206 for a later range") { answer, request in
            let first = request.range == "bytes=0-" ? 10 : 100_010
            answer.set("Content-Range", "bytes \(first)-299999/300000")
        },
        Lie("206 that begins before what was asked", "Content-Range", "bytes 50-299999/300000"),
        Lie("206 that is called multipart", "Content-Type", "multipart/byteranges; boundary=x"),
        Lie("206 without Content-Range", "Content-Range", nil),
        Lie("206 with two Content-Ranges") { answer, _ in
            answer.fields.append(("Content-Range", "bytes 0-299999/300000"))
        },
        Lie("206 whose last byte is past the length") { answer, request in
            let first = request.range == "bytes=0-" ? 0 : 100_000
            answer.set("Content-Range", "bytes \(first)-299999/299999")
        },
        Lie("206 whose last byte is before the first", "Content-Range", "bytes 200000-100000/300000"),
        Lie("206 of an unknown range", "Content-Range", "bytes */300000"),
        Lie("206 beyond 64 bits", "Content-Range", "bytes 0-18446744073709551616/18446744073709551617"),
        Lie("206 of another unit", "Content-Range", "items 0-299999/300000"),
        Lie("206 whose two lengths contradict each other", "Content-Length", "5"),
        Lie("416 within the length") { answer, _ in
            answer.status = 416
            answer.set("Content-Range", "bytes */300000")
            answer.set("Content-Length", "0")
            answer.body = []
        },
    ]

    /// Invalid answers to any request.
    static let aboutBodies = [
        Lie("gzip on a part, in spite of identity", "Content-Encoding", "gzip"),
        Lie("gzip on the whole, in spite of identity") { answer, _ in
            answer.status = 200
            answer.set("Content-Range", nil)
            answer.set("Content-Encoding", "gzip")
        },
        Lie("a part that claims to be the whole") { answer, _ in
            answer.status = 200
            answer.set("Content-Range", "bytes 100000-299999/300000")
        },
        Lie("a length of 10^18") { answer, _ in
            answer.status = 200
            answer.set("Content-Range", nil)
            answer.set("Content-Length", "1000000000000000000")
        },
        Lie("a length of 2^63-1") { answer, _ in
            answer.status = 200
            answer.set("Content-Range", nil)
            answer.set("Content-Length", "9223372036854775807")
        },
        Lie("a total of 2^63-1") { answer, request in
            let first = request.range == "bytes=0-" ? 0 : 100_000
            answer.set("Content-Range", "bytes \(first)-299999/9223372036854775807")
        },
        Lie("a status that answers nothing") { answer, _ in answer.status = 299 },
        Lie("204, no content") { answer, _ in
            answer = ScriptedAnswer(204)
        },
        Lie("a head that never ends") { answer, _ in
            answer = .raw(
                "HTTP/1.1 200 OK\r\n" + String(repeating: "A: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n", count: 20_000))
        },
        Lie("what is not HTTP") { answer, _ in answer = .raw("SSH-2.0-OpenSSH_9.2\r\n") },
        Lie("a redirect that leads in a circle") { answer, _ in answer = .redirect(to: "/film.mp4") },
        Lie("a redirect to a file") { answer, _ in answer = .redirect(to: "file:///etc/passwd") },
    ]
}
