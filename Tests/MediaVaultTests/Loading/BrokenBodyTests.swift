import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@Suite("Response bodies that break off", .timeLimit(.minutes(5)))
struct BrokenBodyTests {
    private static let length: Int64 = 600_000

    /// A way in which a body breaks off.
    struct Break: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// How long the origin may be silent, in each run until the test holds.
        var limits: [Duration] = [.seconds(30)]
        let apply: @Sendable (inout ScriptedAnswer) -> Void

        static let short: [Duration] = [.seconds(1), .seconds(10)]
    }

    private static let breaks = [
        Break(testDescription: "FIN before the end of Content-Length") { $0.cut(at: 150_000, by: .close) },
        Break(testDescription: "RST on the way") { $0.cut(at: 150_000, by: .reset) },
        Break(testDescription: "chunks without the last one") {
            $0.sendInChunks()
            $0.cut(at: 150_000, by: .close)
        },
        Break(testDescription: "RST in the midst of chunks") {
            $0.sendInChunks()
            $0.cut(at: 150_000, by: .reset)
        },
        Break(testDescription: "silence on the way", limits: Break.short) { $0.cut(at: 150_000, by: .hold(Gate())) },
        Break(testDescription: "nothing after the head") { $0.cut(at: 0, by: .close) },
        Break(testDescription: "no head, FIN") { $0.before = [.close] },
        Break(testDescription: "no head, RST") { $0.before = [.reset] },
        Break(testDescription: "no head, silence", limits: Break.short) { $0.before = [.hold(Gate())] },
        Break(testDescription: "429 without Retry-After") {
            $0 = ScriptedAnswer(429, fields: ["Content-Length": "0"])
        },
        Break(testDescription: "503 for a second") {
            $0 = ScriptedAnswer(503, fields: ["Content-Length": "0", "Retry-After": "1"])
        },
        Break(testDescription: "429 until a date") {
            $0 = ScriptedAnswer(
                429,
                fields: [
                    "Content-Length": "0", "Date": "Sun, 06 Nov 1994 08:49:37 GMT",
                    "Retry-After": "Sun, 06 Nov 1994 08:49:38 GMT",
                ])
        },
        Break(testDescription: "500") { $0 = ScriptedAnswer(500, fields: ["Content-Length": "0"]) },
        Break(testDescription: "502 with a page") {
            $0 = ScriptedAnswer(502, fields: ["Content-Length": "4"], body: [.bytes(Array("oops".utf8))])
        },
    ]

    @Test(
        "If a body breaks off once, the reader resumes at the next byte, and no byte is sent twice", arguments: breaks)
    func once(_ broken: Break) async throws {
        let resumes = try await holds(within: broken.limits) { limit in
            let fixture = try await VaultFixture(ScriptedResource(length: Self.length))
            fixture.origin.answer { [resource = fixture.resource] request in
                var answer = resource.answer(to: request)
                // The reader has already started when the body breaks off.
                if request.number == 0 { answer.cut(at: 200_000, by: .close) }
                if request.number == 1 { broken.apply(&answer) }
                return answer
            }
            let vault = try await fixture.openHasty(stall: limit)
            let reception = await fixture.receive(vault)
            #expect(reception.bytes == 0..<Self.length && reception.error == nil && reception.wrongByte == nil)
            #expect(try await vault.status().bytesFetched == Self.length)
            await vault.close()
            #expect(try await fixture.stored() == [0..<Self.length])
            return fixture.origin.exchanges.count == 3
        }
        #expect(resumes)
    }

    @Test(
        "If every body breaks off, the reader fails with a typed error in time, after few requests; held bytes stay",
        arguments: breaks)
    func forEver(_ broken: Break) async throws {
        let ends = try await holds(within: broken.limits) { limit in
            let fixture = try await VaultFixture(ScriptedResource(length: Self.length))
            fixture.origin.answer { [resource = fixture.resource] request in
                var answer = resource.answer(to: request)
                if request.number == 0 {
                    answer.cut(at: 200_000, by: .close)
                } else {
                    broken.apply(&answer)
                    if request.range == "bytes=200000-", !answer.body.isEmpty { answer.body = answer.body.suffix(1) }
                }
                return answer
            }
            let patience = broken.limits == Break.short ? limit * 1.5 : .milliseconds(1500)
            let vault = try await fixture.openHasty(stall: limit, patience: patience)
            let reception = await fixture.receive(vault)
            #expect(reception.wrongByte == nil)
            #expect(reception.error?.code == .unreachable || reception.error?.code == .refused)
            #expect(fixture.origin.exchanges.count <= 31)
            await vault.close()
            let stored = try await fixture.stored()
            return reception.bytes == 0..<200_000 && reception.error?.firstMissing == 200_000
                && stored == [0..<200_000]
        }
        #expect(ends)
    }

    @Test("A download resumes after each break, as a player does, and completes")
    func download() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: Self.length))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.cut(at: 150_000, by: request.number.isMultiple(of: 2) ? .close : .reset)
            return answer
        }
        let vault = try await fixture.openHasty()
        for try await _ in vault.download(fixture.url) {}
        #expect(try await fixture.held(vault) == [0..<Self.length])
        #expect(fixture.origin.exchanges.count <= 8)
        await vault.close()
    }

    @Test("A close-delimited body is complete when the connection closes, but not when it is reset")
    func closeDelimited() async throws {
        let fixture = try await VaultFixture(
            ScriptedResource(length: Self.length, entityTag: nil, supportsRanges: false))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.sendUntilClose()
            answer.rawHead = "HTTP/1.0 200 OK\r\nContent-Type: video/mp4\r\nLast-Modified: x\r\n\r\n"
            if request.number == 0 { answer.cut(at: 250_000, by: .reset) }
            return answer
        }
        let vault = try await fixture.openHasty()
        let reception = await fixture.receive(vault)
        #expect(reception.bytes == 0..<Self.length && reception.error == nil && reception.wrongByte == nil)
        #expect(try await vault.information(for: fixture.url).length == Self.length)
        #expect(fixture.origin.exchanges.count == 2)
        await vault.close()
        #expect(try await fixture.stored() == [0..<Self.length])
    }

    @Test("An early FIN truncates a close-delimited body if its length is known")
    func closeDelimitedTooSoon() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: Self.length, supportsRanges: false))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            guard request.method == "GET" else { return answer }
            answer.sendUntilClose()
            if request.number == 1 { answer.cut(at: 250_000, by: .close) }
            return answer
        }
        let vault = try await fixture.openHasty()
        #expect(try await vault.information(for: fixture.url).length == Self.length)
        let reception = await fixture.receive(vault)
        #expect(reception.bytes == 0..<Self.length && reception.error == nil && reception.wrongByte == nil)
        #expect(fixture.origin.exchanges.count == 3)
        await vault.close()
        #expect(try await fixture.stored() == [0..<Self.length])
    }
}
