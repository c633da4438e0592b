import MediaVault
import OriginTestSupport
import Testing

@Suite("Origins that send more than was asked for", .timeLimit(.minutes(5)))
struct WiderRangeTests {
    @Test(
        "A 206 that begins before what was asked, and contains it, is used with the right bytes",
        arguments: [RequestedRange.closed(first: 150_000, last: 199_999), .from(150_000)])
    func wider(_ range: RequestedRange) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 300_000))
        fixture.origin.answer { [media = fixture.media, resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            guard request.method == "GET" else { return answer }
            answer.status = 206
            answer.set("Content-Range", "bytes 65536-299999/300000")
            answer.set("Content-Length", "234464")
            answer.body = [.bytes(media.bytes(65_536..<300_000))]
            return answer
        }
        let vault = try await fixture.open()
        let reception = await fixture.receive(vault, range)
        let end: Int64 = range == .from(150_000) ? 300_000 : 200_000
        #expect(reception.error == nil && reception.wrongByte == nil && reception.bytes == 150_000..<end)
        await vault.close()
        #expect(try await fixture.stored() != nil, "what is held is right")
    }
}
