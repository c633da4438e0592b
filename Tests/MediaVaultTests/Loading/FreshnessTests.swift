import MediaVault
import OriginTestSupport
import Testing
import VaultModel
import VaultTestSupport

@Suite("Freshness of held bytes", .timeLimit(.minutes(5)))
struct FreshnessTests {
    @Test("Held and fresh bytes and their head are served without any request, also after a restart")
    func fresh() async throws {
        let fixture = try await FreshFixture()
        let vault = try await fixture.filled()
        await vault.close()
        let again = try await fixture.open()
        fixture.clock.advance(by: 59)
        #expect(try await fixture.vault.read(again) == 0..<200_000)
        let reader = try await again.read(fixture.url, range: .suffix(10))
        let head = try await again.head(of: fixture.url)
        #expect(!reader.isStale && !head.isStale && fixture.asked() == ["GET bytes=0-"])
        await again.close()
    }

    @Test("A stale title is revalidated by one conditional request, and its 304 makes it fresh, also after a restart")
    func revalidated() async throws {
        let fixture = try await FreshFixture()
        let vault = try await fixture.filled()
        fixture.clock.advance(by: 60)
        let reader = try await vault.read(fixture.url)
        #expect(!reader.isStale)
        #expect(try await fixture.vault.read(vault) == 0..<200_000)
        #expect(fixture.asked(since: 1) == ["HEAD \"v1\""] && fixture.vault.bytesSent == 200_000)
        await vault.close()
        let again = try await fixture.open()
        fixture.clock.advance(by: 59)
        #expect(try await fixture.vault.read(again) == 0..<200_000)
        #expect(fixture.origin.exchanges.count == 2)
        await again.close()
    }

    @Test("A version that is held since the second of its date begins again once it is stale and its date counts")
    func settledDate() async throws {
        let versions = [1, 2].map { ScriptedResource(seed: $0, length: 100_000, entityTag: nil) }
        let fixture = try await FreshFixture(versions[0])
        let answer = { (version: ScriptedResource, date: String) in
            fixture.origin.answer { request in
                var answer = version.answer(to: request)
                answer.set("Last-Modified", "Tue, 14 Nov 2023 22:13:20 GMT")
                answer.set("Date", date)
                answer.set("Cache-Control", "max-age=60")
                return answer
            }
        }
        answer(versions[0], "Tue, 14 Nov 2023 22:13:20 GMT")
        let vault = try await fixture.filled()
        answer(versions[1], "Tue, 14 Nov 2023 22:14:20 GMT")
        fixture.clock.advance(by: 60)
        let later = await fixture.vault.receive(vault, versions: [versions[1].media])
        #expect(later.bytes == 0..<100_000 && later.error == nil && later.wrongByte == nil)
        await vault.close()
        #expect(try await fixture.vault.stored(versions: [versions[1].media]) == [0..<100_000])
    }

    @Test("Revalidation works with a date alone, and an answer with equal validators counts like a 304")
    func byDate() async throws {
        let date = "Sat, 21 Nov 2020 12:00:00 GMT"
        let title = ScriptedResource(length: 100_000, entityTag: nil, lastModified: date)
        let fixture = try await FreshFixture(title)
        let vault = try await fixture.filled()
        fixture.clock.advance(by: 60)
        let reader = try await vault.read(fixture.url)
        #expect(!reader.isStale && reader.originStatus == 304)
        #expect(fixture.asked(since: 1) == ["HEAD \(date)"])
        fixture.origin.answer { request in
            // This origin ignores conditional requests.
            var answer = title.answer(to: request)
            answer.status = answer.status == 304 ? 200 : answer.status
            answer.set("Content-Length", "100000")
            return answer
        }
        // The previous result would still count, so another vault must send the request.
        await vault.close()
        let again = try await fixture.open()
        fixture.clock.advance(by: 60)
        let head = try await again.head(of: fixture.url)
        #expect(!head.isStale && head.originStatus == 200)
        #expect(fixture.origin.exchanges.count == 3 && fixture.vault.bytesSent == 100_000)
        await again.close()
    }

    @Test("Sixteen concurrent readers share one revalidation")
    func shared() async throws {
        let gate = Gate()
        let fixture = try await FreshFixture()
        let vault = try await fixture.filled()
        fixture.origin.answer { [title = fixture.vault.resource] request in
            var answer = title.answer(to: request)
            answer.before = [.hold(gate)]
            return answer
        }
        fixture.clock.advance(by: 60)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<16 { group.addTask { try await vault.read(fixture.url).isStale } }
            await fixture.origin.wait { $0.last?.phase == .held }
            gate.open()
            for try await isStale in group { #expect(!isStale) }
        }
        #expect(fixture.origin.exchanges.count == 2)
        await vault.close()
    }

    @Test("If the origin is unreachable, held bytes are served, marked as stale, and not deleted")
    func unreachable() async throws {
        let fixture = try await FreshFixture()
        let vault = try await fixture.filled()
        fixture.origin.stop()
        fixture.clock.advance(by: 1_000_000)
        for _ in 0..<3 {
            let reader = try await vault.read(fixture.url)
            #expect(reader.isStale && reader.staleness == .unreachable && reader.range == 0..<200_000)
        }
        #expect(try await fixture.vault.read(vault) == 0..<200_000)
        #expect(try await vault.head(of: fixture.url).staleness == .unreachable)
        await vault.close()
    }

    @Test("An origin that does not answer delays no first byte for long, and its late answer counts")
    func slow() async throws {
        let gate = Gate()
        let fixture = try await FreshFixture()
        let vault = try await fixture.filled(retry: RetryPolicy())
        fixture.origin.answer { [title = fixture.vault.resource] request in
            var answer = title.answer(to: request)
            answer.before = [.hold(gate)]
            return answer
        }
        fixture.clock.advance(by: 60)
        // The gate stays closed: the test is that this call returns.
        let reader = try await vault.read(fixture.url)
        #expect(reader.staleness == .slow)
        #expect(try await fixture.vault.read(vault) == 0..<200_000)
        gate.open()
        await fixture.origin.wait { $0.last?.phase == .done }
        while try await vault.read(fixture.url).isStale { try await Task.sleep(for: .milliseconds(5)) }
        // HEAD was not answered, so GET was sent instead.
        #expect(fixture.origin.exchanges.map(\.request.method) == ["GET", "HEAD", "GET"])
        await vault.close()
    }

    @Test("If the content changed, the new representation starts over, and the two are never mixed")
    func changed() async throws {
        let fixture = try await FreshFixture()
        let vault = try await fixture.filled()
        let before = try await vault.head(of: fixture.url).entityTag
        let other = ScriptedResource(seed: 2, length: 150_000, entityTag: "\"v2\"")
        fixture.say("max-age=60", of: other)
        fixture.clock.advance(by: 60)
        let reader = try await vault.read(fixture.url, range: .closed(first: 1000, last: 99_999))
        #expect(!reader.isStale && reader.entityTag != before && reader.information.length == 150_000)
        var position: Int64 = 1000
        while let bytes = try await reader.next() {
            #expect(other.media.matches(bytes, at: position))
            position += Int64(bytes.count)
        }
        #expect(position == 100_000)
        #expect(
            fixture.asked(since: 1) == ["HEAD \"v1\"", "GET bytes=0-0 \"v1\"", "GET bytes=1000-99999"])
        await vault.close()
    }

    @Test("A careless answer to HEAD removes no held byte: a GET must confirm it first")
    func carelessHead() async throws {
        let careless: [@Sendable (inout ScriptedAnswer) -> Void] = [
            { $0.status = 405 }, { $0.status = 404 }, { ($0.status, $0.fields) = (200, [("Content-Length", "0")]) },
            { $0.set("ETag", "\"other\"") }, { ($0.status, $0.fields) = (200, []) },
        ]
        for spoil in careless {
            let fixture = try await FreshFixture()
            let vault = try await fixture.filled()
            fixture.origin.answer { [title = fixture.vault.resource] request in
                var answer = title.answer(to: request)
                if request.method == "HEAD" { spoil(&answer) }
                return answer
            }
            fixture.clock.advance(by: 60)
            let reader = try await vault.read(fixture.url)
            #expect(!reader.isStale && fixture.asked(since: 1) == ["HEAD \"v1\"", "GET bytes=0-0 \"v1\""])
            #expect(try await fixture.vault.read(vault) == 0..<200_000 && fixture.vault.bytesSent == 200_000)
            await vault.close()
        }
    }

    @Test("A careless answer to HEAD removes no held byte if a gap must be fetched, fresh or not")
    func carelessHeadAtHole() async throws {
        let fixture = try await FreshFixture()
        let vault = try await fixture.open()
        #expect(try await fixture.vault.read(vault, .closed(first: 0, last: 99_999)) == 0..<100_000)
        await vault.close()
        fixture.origin.answer { [title = fixture.vault.resource] request in
            var answer = title.answer(to: request)
            if request.method == "HEAD" { (answer.status, answer.fields) = (200, [("Content-Length", "0")]) }
            return answer
        }
        let again = try await fixture.open()
        #expect(try await fixture.vault.read(again) == 0..<200_000)
        #expect(fixture.asked(since: 1).last == "GET bytes=100000-" && fixture.vault.bytesSent == 200_000)
        await again.close()
    }

    @Test(
        "A refusal keeps held bytes; readers see it only if the origin requires revalidation for each use",
        arguments: [401, 403, 404, 410, 451, 500, 503])
    func refused(status: Int) async throws {
        for (cacheControl, counts) in [("max-age=60", false), ("max-age=60, must-revalidate", status < 500)] {
            let fixture = try await FreshFixture(cacheControl: cacheControl)
            let vault = try await fixture.filled()
            fixture.origin.answer { _ in ScriptedAnswer(status, fields: ["Content-Length": "0"]) }
            fixture.clock.advance(by: 60)
            if counts {
                let error = await #expect(throws: VaultError.self) { try await vault.read(fixture.url) }
                #expect(error?.code == .refused && error?.originStatus == status)
            } else {
                let reader = try await vault.read(fixture.url)
                #expect(reader.staleness == .refused && reader.originStatus == status)
            }
            await vault.close()
            let again = try await fixture.open()
            #expect(try await fixture.vault.held(again) == [0..<200_000])
            await again.close()
        }
    }

    @Test("A missing first byte is fetched without a separate revalidation, and the answer makes the rest fresh")
    func gapFirst() async throws {
        let fixture = try await FreshFixture()
        let vault = try await fixture.open()
        #expect(try await fixture.vault.read(vault, .closed(first: 0, last: 49_999)) == 0..<50_000)
        fixture.clock.advance(by: 60)
        #expect(try await fixture.vault.read(vault, .from(50_000)) == 50_000..<200_000)
        #expect(try await fixture.vault.read(vault) == 0..<200_000)
        #expect(fixture.asked() == ["GET bytes=0-49999", "GET bytes=50000-"])
        await vault.close()
    }

    @Test("A pinned title causes no request however old it is, and is revalidated again when unpinned")
    func pinned() async throws {
        let fixture = try await FreshFixture(cacheControl: "no-cache")
        let vault = try await fixture.filled()
        try await vault.titles.pin(MediaReference(fixture.url))
        fixture.clock.advance(by: 1_000_000)
        #expect(try await !vault.read(fixture.url).isStale && fixture.origin.exchanges.count == 1)
        await vault.close()
        let again = try await fixture.open()
        #expect(try await !again.read(fixture.url).isStale && fixture.origin.exchanges.count == 1)
        try await again.titles.unpin(MediaReference(fixture.url))
        #expect(try await !again.read(fixture.url).isStale && fixture.origin.exchanges.count == 2)
        await again.close()
    }

    @Test("Without a validator, equal length means held bytes are served as stale, and another length starts over")
    func unverifiable() async throws {
        let fixture = try await FreshFixture(ScriptedResource(length: 100_000, entityTag: nil))
        let vault = try await fixture.filled()
        fixture.clock.advance(by: 60)
        #expect(try await vault.read(fixture.url).staleness == .unverifiable)
        await vault.close()
        let other = ScriptedResource(seed: 2, length: 90_000, entityTag: nil)
        fixture.say("max-age=60", of: other)
        let again = try await fixture.open()
        let reader = try await again.read(fixture.url)
        #expect(!reader.isStale && reader.information.length == 90_000)
        await again.close()
    }

    @Test("A clock that jumps ten years forward and back causes one revalidation each time")
    func clockJumps() async throws {
        let fixture = try await FreshFixture()
        let vault = try await fixture.filled()
        await vault.close()
        let tenYears: Int64 = 315_360_000
        var questions = 1
        for jump in [-tenYears, tenYears, tenYears, -tenYears] {
            fixture.clock.advance(by: jump)
            let vault = try await fixture.open()
            questions += 1
            for _ in 0..<3 {
                #expect(try await fixture.vault.read(vault) == 0..<200_000)
                #expect(fixture.origin.exchanges.count == questions)
            }
            await vault.close()
        }
        #expect(fixture.vault.bytesSent == 200_000)
    }
}
