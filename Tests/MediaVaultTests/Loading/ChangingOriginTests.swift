import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@Suite("Content that changes while it is read", .timeLimit(.minutes(5)))
struct ChangingOriginTests {
    /// A resource before and after it changes at its origin.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let before: ScriptedResource
        let after: ScriptedResource

        init(
            _ name: String, from before: (inout ScriptedResource) -> Void, to after: (inout ScriptedResource) -> Void
        ) {
            var (one, two) = (ScriptedResource(length: 400_000), ScriptedResource(seed: 2, length: 400_000))
            before(&one)
            after(&two)
            (testDescription, self.before, self.after) = (name, one, two)
        }
    }

    private static let changes = [
        Change("another strong tag", from: { _ in }, to: { $0.entityTag = "\"v2\"" }),
        Change("a strong tag turns weak", from: { _ in }, to: { $0.entityTag = "W/\"v1\"" }),
        Change("the tag vanishes", from: { _ in }, to: { $0.entityTag = nil }),
        Change(
            "the tag vanishes, a date comes", from: { _ in },
            to: { ($0.entityTag, $0.lastModified) = (nil, "Wed, 01 Jan 2020 00:00:00 GMT") }),
        Change("another weak tag", from: { $0.entityTag = "W/\"v1\"" }, to: { $0.entityTag = "W/\"v2\"" }),
        Change(
            "another date",
            from: { ($0.entityTag, $0.lastModified) = (nil, "Tue, 01 Jan 2019 00:00:00 GMT") },
            to: { ($0.entityTag, $0.lastModified) = (nil, "Wed, 01 Jan 2020 00:00:00 GMT") }),
        Change(
            "another length under the same tag", from: { _ in },
            to: { $0.media = PseudoRandomMedia(seed: 2, length: 400_001) }),
        Change(
            "a shorter one under the same date",
            from: { ($0.entityTag, $0.lastModified) = (nil, "x") },
            to: {
                ($0.entityTag, $0.lastModified, $0.media) = (nil, "x", PseudoRandomMedia(seed: 2, length: 100_000))
            }),
        Change(
            "another length and no validator at all", from: { $0.entityTag = nil },
            to: { ($0.entityTag, $0.media) = (nil, PseudoRandomMedia(seed: 2, length: 300_000)) }),
        Change(
            "another tag, and no ranges any more", from: { _ in },
            to: { ($0.entityTag, $0.supportsRanges) = ("\"v2\"", false) }),
    ]

    @Test(
        "If content changes mid-stream, the reader fails, no versions are mixed, and the next reader gets the new one",
        arguments: changes)
    func midTitle(_ change: Change) async throws {
        let fixture = try await VaultFixture(change.before)
        fixture.origin.answer { request in
            guard request.number > 0 else {
                var answer = change.before.answer(to: request)
                answer.cut(at: 150_000, by: .close)
                return answer
            }
            return change.after.answer(to: request)
        }
        let vault = try await fixture.openHasty()
        let versions = [change.before.media, change.after.media]
        let reception = await fixture.receive(vault, versions: versions)
        #expect(reception.wrongByte == nil && reception.bytes.lowerBound == 0)
        #expect(reception.error?.code == .changed, "\(String(describing: reception.error))")
        let next = await fixture.receive(vault, versions: [change.after.media])
        #expect(next.bytes == 0..<change.after.media.length && next.error == nil)
        #expect(fixture.origin.exchanges.count <= 5)
        await vault.close()
        #expect(try await fixture.stored(versions: [change.after.media]) == [0..<change.after.media.length])
    }

    @Test(
        "If content changes between two runs, the new version replaces the held bytes, and the two are never mixed",
        arguments: changes)
    func betweenRuns(_ change: Change) async throws {
        let fixture = try await VaultFixture(change.before)
        let vault = try await fixture.openHasty()
        _ = await fixture.receive(vault, .closed(first: 0, last: 49_999), versions: [change.before.media])
        await vault.close()
        #expect(try await fixture.stored() == [0..<50_000])
        fixture.origin.answer { change.after.answer(to: $0) }
        let again = try await fixture.openHasty()
        for _ in 0..<2 {
            let reception = await fixture.receive(again, versions: [change.before.media, change.after.media])
            #expect(reception.wrongByte == nil)
        }
        let last = await fixture.receive(again, versions: [change.after.media])
        #expect(last.bytes == 0..<change.after.media.length && last.error == nil)
        await again.close()
        #expect(try await fixture.stored(versions: [change.after.media]) == [0..<change.after.media.length])
    }

    @Test("With Last-Modified alone, the same date and length mean the same content, also after a restart")
    func dateOnly() async throws {
        var resource = ScriptedResource(length: 300_000, entityTag: nil)
        resource.lastModified = "Tue, 01 Jan 2019 00:00:00 GMT"
        let fixture = try await VaultFixture(resource)
        let vault = try await fixture.openHasty()
        #expect(try await fixture.read(vault, .closed(first: 0, last: 99_999)) == 0..<100_000)
        await vault.close()
        let again = try await fixture.openHasty()
        #expect(try await fixture.read(again) == 0..<300_000)
        #expect(fixture.bytesSent == 300_000)
        #expect(fixture.origin.exchanges.last?.request.ifRange == resource.lastModified)
        await again.close()
    }

    @Test("Without any validator held bytes are served, and after a restart none are added")
    func noValidator() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 300_000, entityTag: nil))
        let vault = try await fixture.openHasty()
        #expect(try await fixture.read(vault, .closed(first: 0, last: 99_999)) == 0..<100_000)
        await vault.close()
        let newer = PseudoRandomMedia(seed: 2, length: 300_000)
        fixture.origin.answer { ScriptedResource(seed: 2, length: 300_000, entityTag: nil).answer(to: $0) }
        let again = try await fixture.openHasty()
        #expect(try await fixture.read(again, .closed(first: 0, last: 99_999)) == 0..<100_000)
        let reception = await fixture.receive(again, versions: [newer])
        #expect(reception.bytes == 0..<300_000 && reception.error == nil && reception.wrongByte == nil)
        await again.close()
        #expect(try await fixture.stored(versions: [newer]) == [0..<300_000])
    }
}
