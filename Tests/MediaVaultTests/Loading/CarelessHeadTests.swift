import MediaVault
import OriginTestSupport
import Testing
import VaultModel
import VaultTestSupport

@Suite("Origins that answer GET correctly and HEAD badly", .timeLimit(.minutes(5)))
struct CarelessHeadTests {
    /// A change that spoils a good answer to HEAD.
    struct Spoiling: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let spoil: @Sendable (inout ScriptedAnswer) -> Void

        init(_ name: String, _ spoil: @escaping @Sendable (inout ScriptedAnswer) -> Void) {
            (testDescription, self.spoil) = (name, spoil)
        }
    }

    private static let length: Int64 = 300_000

    private static let spoilings = [
        Spoiling("a length of 0") { $0.set("Content-Length", "0") },
        Spoiling("no length") { $0.set("Content-Length", nil) },
        Spoiling("404") { ($0.status, $0.fields) = (404, [("Content-Length", "0")]) },
        Spoiling("500") { ($0.status, $0.fields) = (500, [("Content-Length", "0")]) },
        Spoiling("405") { ($0.status, $0.fields) = (405, [("Content-Length", "0")]) },
        Spoiling("a length that is too small") { $0.set("Content-Length", "100") },
        Spoiling("a length that is too large") { $0.set("Content-Length", "1000000") },
        Spoiling("closed without an answer") { $0.before = [.close] },
        Spoiling("encoded content") { $0.set("Content-Encoding", "gzip") },
        Spoiling("silence") { $0.before = [.hold(Gate())] },
    ]

    private func fixture(_ spoiling: Spoiling, _ entityTag: String?) async throws -> VaultFixture {
        let fixture = try await VaultFixture(ScriptedResource(length: Self.length, entityTag: entityTag))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            if request.method == "HEAD" { spoiling.spoil(&answer) }
            return answer
        }
        return fixture
    }

    @Test("The last bytes of an unknown title are served, with or without a strong validator", arguments: spoilings)
    func suffix(_ spoiling: Spoiling) async throws {
        for entityTag in ["\"v1\"", nil] {
            let fixture = try await fixture(spoiling, entityTag)
            let vault = try await fixture.openHasty { $0.headTimeLimit = .seconds(1) }
            let reader = try await vault.read(fixture.url, range: .suffix(1000))
            #expect(reader.range == Self.length - 1000..<Self.length && reader.information.length == Self.length)
            var bytes: [UInt8] = []
            while let more = try await reader.next() { bytes += more }
            #expect(bytes == fixture.media.bytes(Self.length - 1000..<Self.length))
            #expect(
                fixture.origin.exchanges.count { $0.request.method == "HEAD" } == 1, "one HEAD request is enough")
            await vault.close()
        }
    }

    @Test("For the last bytes a good HEAD without a strong validator is enough, and one GET fetches them")
    func suffixWithoutValidator() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: Self.length, entityTag: nil))
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault, .suffix(1000)) == Self.length - 1000..<Self.length)
        #expect(fixture.origin.exchanges.map(\.request.method) == ["HEAD", "GET"])
        await vault.close()
    }

    @Test("An answer to HEAD for an unknown title is not trusted if GET contradicts it", arguments: spoilings.prefix(5))
    func cold(_ spoiling: Spoiling) async throws {
        let fixture = try await fixture(spoiling, "\"v1\"")
        let vault = try await fixture.open()
        let head = try await vault.head(of: fixture.url)
        #expect(head.information.length == Self.length && head.information.supportsRanges)
        #expect(fixture.ranges == ["bytes=0-0"])
        #expect(try await fixture.read(vault) == 0..<Self.length && fixture.bytesSent == Self.length)
        await vault.close()
        #expect(try await fixture.stored() == [0..<Self.length])
    }

    @Test(
        "A length or type known only from HEAD does not keep a range from being requested",
        arguments: ["100", "1000000"])
    func lengthFromHead(length: String) async throws {
        for entityTag in ["\"v1\"", nil] {
            let spoiling = Spoiling("a wrong length and type") {
                $0.set("Content-Length", length)
                $0.set("Content-Type", "text/html")
            }
            let fixture = try await fixture(spoiling, entityTag)
            let vault = try await fixture.open()
            let told = try await vault.head(of: fixture.url).information
            #expect(
                told.length == Int64(length) && told.type == "text/html", "premise: only HEAD has reported them")
            #expect(try await fixture.read(vault, .closed(first: 200_000, last: 249_999)) == 200_000..<250_000)
            let known = try await vault.head(of: fixture.url).information
            #expect(known.length == Self.length && known.type == fixture.resource.contentType)
            await #expect(throws: VaultError.self) { try await fixture.read(vault, .from(Self.length)) }
            await vault.close()
        }
    }

    @Test("A type known only from HEAD is replaced by the type from GET if all else is right")
    func typeAlone() async throws {
        let fixture = try await fixture(Spoiling("a wrong type") { $0.set("Content-Type", "text/html") }, "\"v1\"")
        let vault = try await fixture.open()
        #expect(try await vault.head(of: fixture.url).information.type == "text/html")
        let reader = try await vault.read(fixture.url)
        #expect(reader.information.type == fixture.resource.contentType)
        reader.cancel()
        await vault.close()
        let again = try await fixture.open()
        #expect(try await again.head(of: fixture.url).information.type == fixture.resource.contentType)
        await again.close()
    }

    @Test("An answer to HEAD that GET confirms is trusted: an empty title, or a missing one")
    func confirmed() async throws {
        let empty = try await VaultFixture(ScriptedResource(length: 0))
        let vault = try await empty.open()
        #expect(try await vault.head(of: empty.url).information.length == 0)
        #expect(empty.origin.exchanges.map(\.request.method) == ["HEAD", "GET"])
        await vault.close()
        let gone = try await VaultFixture(ScriptedResource(length: 10))
        gone.origin.answer { _ in ScriptedAnswer(404, fields: ["Content-Length": "0"]) }
        let other = try await gone.open()
        let error = await #expect(throws: VaultError.self) { try await other.head(of: gone.url) }
        #expect(error?.code == .refused && error?.originStatus == 404)
        #expect(try await other.titles.summary(of: gone.url) == nil)
        await other.close()
    }

    @Test("Held bytes do not wait for an origin that does not answer HEAD, and the range is not shortened")
    func silentToHead() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: Self.length))
        let first = try await fixture.open()
        #expect(try await fixture.read(first, .closed(first: 0, last: 99_999)) == 0..<100_000)
        await first.close()
        let gate = Gate()
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            // The origin answers nothing until the held bytes were served.
            if request.method == "HEAD" { answer.before = [.hold(Gate())] } else { answer.before = [.hold(gate)] }
            return answer
        }
        let vault = try await Vault.open(fixture.place, unlock: fixture.unlock)
        let reader = try await vault.read(fixture.url)
        #expect(reader.range == 0..<Self.length && !reader.isShortened)
        var position: Int64 = 0
        while position < 100_000, let bytes = try await reader.next() {
            #expect(fixture.media.matches(bytes, at: position))
            position += Int64(bytes.count)
        }
        #expect(!fixture.origin.exchanges.dropFirst().contains { $0.phase == .done }, "the origin has not answered yet")
        gate.open()
        while let bytes = try await reader.next() {
            #expect(fixture.media.matches(bytes, at: position))
            position += Int64(bytes.count)
        }
        #expect(position == Self.length)
        // Later ranges do not wait either: HEAD is not sent again.
        for first in [10_000, 50_000] as [Int64] {
            let range = try await fixture.read(vault, .from(first))
            #expect(range == first..<Self.length)
        }
        #expect(fixture.origin.exchanges.count { $0.request.method == "HEAD" } <= 1)
        await vault.close()
    }

    @Test("An origin that did not answer HEAD receives only GET from then on")
    func silenceIsRemembered() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: Self.length))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            if request.method == "HEAD" {
                answer.before = [.hold(Gate())]
            } else if request.number < 2 {
                (answer.status, answer.fields, answer.body) = (404, [("Content-Length", "0")], [])
            }
            return answer
        }
        let vault = try await fixture.openHasty { $0.headTimeLimit = .seconds(1) }
        let error = await #expect(throws: VaultError.self) { try await vault.head(of: fixture.url) }
        #expect(error?.originStatus == 404)
        #expect(try await vault.head(of: fixture.url).information.length == Self.length)
        #expect(fixture.origin.exchanges.map(\.request.method) == ["HEAD", "GET", "GET"])
        await vault.close()
    }

    @Test("Held bytes, even stale ones, are served before an unanswered HEAD times out", arguments: [false, true])
    func givenAtOnce(isStale: Bool) async throws {
        let fixture = try await FreshFixture(ScriptedResource(length: Self.length))
        let first = try await fixture.open()
        #expect(try await fixture.vault.read(first, .closed(first: 0, last: 99_999)) == 0..<100_000)
        await first.close()
        fixture.origin.answer { [resource = fixture.vault.resource] request in
            var answer = resource.answer(to: request)
            answer.before = [.hold(Gate())]
            return answer
        }
        if isStale { fixture.clock.advance(by: 60) }
        var options = VaultOptions()
        options.retry.moment = .milliseconds(1)
        options.retry.staleTimeLimit = .milliseconds(1)
        // Longer than the test may run: it ends only if the reader does not wait for HEAD.
        options.retry.headTimeLimit = .seconds(3600)
        options.now = { [clock = fixture.clock] in clock.now }
        let vault = try await Vault.open(fixture.vault.place, unlock: fixture.vault.unlock, options: options)
        let reader = try await vault.read(fixture.url, range: .from(0))
        #expect(reader.range == 0..<Self.length && !reader.isShortened, "the origin is not known to be unreachable")
        #expect(try await reader.next()?.isEmpty == false)
        await fixture.origin.wait { $0.contains { $0.request.method == "HEAD" } }
        #expect(!fixture.vault.ranges.contains("bytes=0-0"), "the answer to HEAD is still pending")
        reader.cancel()
        await vault.close()
    }

    @Test("A partly held stale title is served while its origin is silent, and a changed version is not mixed in")
    func staleAndChanged() async throws {
        let fixture = try await FreshFixture(ScriptedResource(length: Self.length))
        let vault = try await fixture.open(retry: RetryPolicy())
        #expect(try await fixture.vault.read(vault, .closed(first: 0, last: 99_999)) == 0..<100_000)
        let gate = Gate()
        let other = ScriptedResource(seed: 2, length: Self.length, entityTag: "\"v2\"")
        fixture.origin.answer { request in
            var answer = other.answer(to: request)
            answer.before = [.hold(request.method == "HEAD" ? Gate() : gate)]
            return answer
        }
        fixture.clock.advance(by: 60)
        let reader = try await vault.read(fixture.url)
        #expect(reader.staleness == .slow && reader.range == 0..<Self.length)
        #expect(try await reader.next()?.isEmpty == false)
        gate.open()
        let error = await #expect(throws: VaultError.self) { while try await reader.next() != nil {} }
        #expect(error?.code == .changed)
        let next = await fixture.vault.receive(vault, versions: [other.media])
        #expect(next.bytes == 0..<Self.length && next.error == nil)
        await vault.close()
        #expect(try await fixture.vault.stored(versions: [other.media]) == [0..<Self.length])
    }
}
