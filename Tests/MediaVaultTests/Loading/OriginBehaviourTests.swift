import MediaVault
import OriginTestSupport
import Testing

@Suite("Origins of all kinds")
struct OriginBehaviourTests {
    @Test("Content that changed between two runs starts over, and the two versions are never mixed")
    func changedBetweenRuns() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 300_000))
        let first = try await fixture.open()
        _ = try await fixture.read(first, .closed(first: 0, last: 99_999))
        await first.close()

        let newer = ScriptedResource(seed: 2, length: 310_000, entityTag: "\"v2\"")
        fixture.origin.answer { newer.answer(to: $0) }
        let second = try await fixture.open()
        let reader = try await second.read(fixture.url)
        var position: Int64 = 0
        while let bytes = try await reader.next() {
            #expect(newer.media.matches(bytes, at: position))
            position += Int64(bytes.count)
        }
        #expect(position == 310_000 && reader.information.length == 310_000)
        await second.close()
    }

    @Test("If content changes while it is read, the reader gets the old to its end, and the next one the new")
    func changedWhileReading() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 900_000))
        let vault = try await fixture.open()
        let reader = try await vault.read(fixture.url, range: .closed(first: 0, last: 899_999))
        let gate = try await reader.next()
        #expect(gate != nil)
        let newer = ScriptedResource(seed: 2, length: 900_000, entityTag: "\"v2\"")
        fixture.origin.answer { newer.answer(to: $0) }
        // A seek ahead starts a new transfer, which discovers the change.
        let seek = try await vault.read(fixture.url, range: .from(800_000))
        var position: Int64 = 800_000
        while let bytes = try await seek.next() {
            #expect(newer.media.matches(bytes, at: position))
            position += Int64(bytes.count)
        }
        #expect(position == 900_000)
        position = Int64(gate?.count ?? 0)
        while let bytes = try await reader.next() {
            #expect(fixture.media.matches(bytes, at: position))
            position += Int64(bytes.count)
        }
        #expect(position == 900_000)
        await vault.close()
        #expect(try await fixture.stored(versions: [newer.media])?.last == 800_000..<900_000)
    }

    @Test("A resource from an origin without range support is read from byte 0, stored, and then served in ranges")
    func withoutRanges() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 500_000, supportsRanges: false))
        let vault = try await fixture.open()
        let reader = try await vault.read(fixture.url, range: .from(300_000))
        #expect(reader.isWholeAnswer && reader.range == 0..<500_000)
        var position: Int64 = 0
        while let bytes = try await reader.next() {
            #expect(fixture.media.matches(bytes, at: position))
            position += Int64(bytes.count)
        }
        #expect(position == 500_000)
        let again = try await vault.read(fixture.url, range: .from(300_000))
        #expect(!again.isWholeAnswer && again.range == 300_000..<500_000)
        #expect(fixture.bytesSent == 500_000)
        await vault.close()
    }

    @Test("A body of unknown length is streamed, and its length is known when it has ended")
    func unknownLength() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 200_000, supportsRanges: false))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.sendInChunks()
            return answer
        }
        let vault = try await fixture.open()
        let reader = try await vault.read(fixture.url)
        #expect(reader.range == nil && reader.information.length == nil)
        var position: Int64 = 0
        while let bytes = try await reader.next() {
            #expect(fixture.media.matches(bytes, at: position))
            position += Int64(bytes.count)
        }
        #expect(position == 200_000)
        #expect(try await fixture.read(vault, .suffix(10)) == 199_990..<200_000)
        #expect(fixture.origin.exchanges.count == 1)
        await vault.close()
    }

    @Test(
        "Empty, one-byte and whole-block resources are read and held exactly",
        arguments: [0, 1, 32_767, 32_768, 32_769, 65_536])
    func sizes(length: Int64) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault) == 0..<length)
        await vault.close()
        fixture.origin.stop()
        let again = try await fixture.open()
        #expect(try await fixture.read(again) == 0..<length)
        await again.close()
    }

    @Test("A body that breaks off is resumed at the next byte", arguments: [ScriptedStep.close, .reset])
    func brokenOff(step: ScriptedStep) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 700_000))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            if request.number == 0 { answer.cut(at: 300_000, by: step) }
            return answer
        }
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault) == 0..<700_000)
        #expect(try await vault.status().bytesFetched == 700_000)
        #expect(fixture.origin.exchanges.count == 2)
        await vault.close()
    }

    @Test("An error status is passed on, and nothing is stored", arguments: [401, 403, 404, 410, 500, 503])
    func refused(status: Int) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 100))
        fixture.origin.answer { _ in
            ScriptedAnswer(
                status, fields: ["Content-Length": "5", "Retry-After": "7"], body: [.bytes(Array("error".utf8))])
        }
        let vault = try await fixture.open()
        let error = await #expect(throws: VaultError.self) { try await vault.read(fixture.url) }
        #expect(error?.code == .refused && error?.originStatus == status && error?.retryAfter == 7)
        #expect(try await vault.titles.summary(of: fixture.url) == nil)
        await vault.close()
    }

    @Test("An answer for another range is not used")
    func otherRange() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 100_000))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.set("Content-Range", "bytes 5-99999/100000")
            return answer
        }
        let vault = try await fixture.open()
        let error = await #expect(throws: VaultError.self) { try await vault.read(fixture.url) }
        #expect(error?.code == .invalidResponse)
        await vault.close()
    }

    @Test(
        "A resource's information is requested once, with at most one byte of it, even if HEAD is refused",
        arguments: [true, false])
    func information(allowsHead: Bool) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 70_000, contentType: "video/webm"))
        fixture.origin.answer { [resource = fixture.resource] request in
            request.method == "HEAD" && !allowsHead
                ? ScriptedAnswer(405, fields: ["Content-Length": "0"]) : resource.answer(to: request)
        }
        let vault = try await fixture.open()
        for _ in 0..<2 {
            let information = try await vault.information(for: fixture.url)
            #expect(information.length == 70_000 && information.type == "video/webm")
            #expect(information.supportsRanges)
        }
        #expect(fixture.origin.exchanges.count == (allowsHead ? 1 : 2))
        #expect(try await vault.status().bytesFetched == (allowsHead ? 0 : 1))
        #expect(try await fixture.read(vault) == 0..<70_000)
        #expect(try await vault.status().bytesFetched == 70_000)
        await vault.close()
    }

    @Test("An origin that supports ranges without advertising them sends the requested range")
    func silentAboutRanges() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 300_000))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.set("Accept-Ranges", nil)
            return answer
        }
        let vault = try await fixture.open()
        #expect(try await vault.information(for: fixture.url).supportsRanges == false, "HEAD alone proves nothing")
        let reader = try await vault.read(fixture.url, range: .closed(first: 100_000, last: 109_999))
        #expect(reader.range == 100_000..<110_000 && !reader.isWholeAnswer)
        var bytes: [UInt8] = []
        for try await chunk in reader { bytes += chunk }
        #expect(bytes == fixture.media.bytes(100_000..<110_000))
        await vault.close()
    }

    @Test("A short first request to an origin without range support serves the whole promised range")
    func probeWithoutRanges() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 400_000, supportsRanges: false))
        let vault = try await fixture.open()
        let reader = try await vault.read(fixture.url, range: .closed(first: 0, last: 1))
        #expect(reader.isWholeAnswer && reader.range == 0..<400_000)
        var position: Int64 = 0
        while let bytes = try await reader.next() {
            #expect(fixture.media.matches(bytes, at: position))
            position += Int64(bytes.count)
        }
        #expect(position == 400_000)
        await vault.close()
    }

    @Test("After a change no old content is served but to those who have begun with it")
    func oldTransferIsDropped() async throws {
        let gate = Gate()
        let fixture = try await VaultFixture(ScriptedResource(length: 900_000))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.insert(.hold(gate), at: 100_000)
            return answer
        }
        let vault = try await fixture.open()
        let old = try await vault.read(fixture.url)
        var count: Int64 = 0
        while count < 100_000, let bytes = try await old.next() { count += Int64(bytes.count) }
        let newer = ScriptedResource(seed: 2, length: 900_000, entityTag: "\"v2\"")
        fixture.origin.answer { newer.answer(to: $0) }
        for range in [RequestedRange.from(800_000), .closed(first: 0, last: 199_999), .whole] {
            let reader = try await vault.read(fixture.url, range: range)
            var position = reader.range?.lowerBound ?? 0
            while let bytes = try await reader.next() {
                #expect(newer.media.matches(bytes, at: position), "at \(position)")
                position += Int64(bytes.count)
            }
        }
        gate.open()
        while let bytes = try await old.next() {
            #expect(fixture.media.matches(bytes, at: count), "at \(count)")
            count += Int64(bytes.count)
        }
        #expect(count == 900_000)
        await vault.close()
        let again = try await fixture.open(.reader)
        #expect(try await fixture.held(again) == [0..<900_000])
        var position: Int64 = 0
        for try await bytes in try await again.read(fixture.url) {
            #expect(newer.media.matches(bytes, at: position), "at \(position)")
            position += Int64(bytes.count)
        }
        await again.close()
    }

    @Test("A body that ends before its known length is resumed a few times, not forever")
    func shortWithoutRanges() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 100_000, supportsRanges: false))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            guard request.method == "GET" else { return answer }
            answer.body = [.media(resource.media, 0..<60_000)]
            answer.sendInChunks()
            return answer
        }
        let vault = try await fixture.openHasty(patience: .seconds(2))
        let begun = ContinuousClock.now
        #expect(try await vault.information(for: fixture.url).length == 100_000)
        let error = await #expect(throws: VaultError.self) {
            for try await _ in try await vault.read(fixture.url) {}
        }
        #expect(error?.code == .unreachable)
        // A HEAD, a request that yielded bytes, and each minute's requests that yielded none: a busy machine may take
        // minutes.
        let minutes = Int((ContinuousClock.now - begun) / .seconds(60)) + 1
        #expect(fixture.origin.exchanges.count <= 2 + 30 * minutes)
        await vault.close()
    }
}
