import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultCache

@Suite("Slow or silent origins", .timeLimit(.minutes(5)))
struct SlowOriginTests {
    private let length: Int64 = 200_000

    @Test("A transfer from an origin that drips bytes continues as long as bytes arrive")
    func drip() async throws {
        let isWhole = try await holds(within: [.milliseconds(900), .seconds(9)]) { limit in
            let fixture = try await VaultFixture(ScriptedResource(length: 8))
            fixture.origin.answer { [resource = fixture.resource] request in
                var answer = resource.answer(to: request)
                // Relative to the timeout, far slower than a byte per second.
                for place in (1..<8).reversed() { answer.insert(.pause(limit * 4 / 9), at: Int64(place)) }
                return answer
            }
            let vault = try await fixture.openHasty(stall: limit)
            #expect(try await fixture.read(vault) == 0..<8)
            await vault.close()
            return fixture.origin.exchanges.count == 1
        }
        #expect(isWhole)
    }

    @Test("A response head that drips in is given up in time")
    func drippingHead() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { _ in
            var answer = ScriptedAnswer(200)
            answer.before =
                [.bytes(Array("HTTP/1.1 200 OK\r\n".utf8))]
                + (0..<50).flatMap { [.pause(.milliseconds(200)), .bytes(Array("X-\($0): y\r\n".utf8))] }
            return answer
        }
        let vault = try await fixture.openHasty(stall: .seconds(1))
        let reception = await fixture.receive(vault)
        #expect(reception.error?.code == .unreachable && fixture.origin.exchanges.count == 1)
        #expect(try await vault.titles.summary(of: fixture.url) == nil)
        await vault.close()
    }

    @Test(
        "If no response head arrives, an opening player gets the error without a retry; other titles are not affected"
    )
    func silence() async throws {
        let isUnaffected = try await holds { limit in
            let (silent, other) = (
                try await VaultFixture(ScriptedResource(length: length)),
                try ScriptedOrigin(ScriptedResource(length: 100_000))
            )
            let gate = Gate()
            silent.origin.answer { _ in
                var answer = ScriptedAnswer(200)
                answer.before = [.hold(gate)]
                return answer
            }
            let vault = try await silent.openHasty(stall: limit)
            async let stalled = silent.receive(vault)
            await silent.origin.wait { !$0.isEmpty }
            let media = PseudoRandomMedia(seed: 1, length: 100_000)
            let fine = await silent.receive(vault, versions: [media], of: other.url())
            let reception = await stalled
            #expect(reception.error?.code == .unreachable && silent.origin.exchanges.count == 1)
            await vault.close()
            return fine.bytes == 0..<100_000 && fine.error == nil
        }
        #expect(isUnaffected)
    }

    @Test("After a stall just before the end, the transfer resumes at the byte where it stopped")
    func nearTheEnd() async throws {
        let resumes = try await holds { limit in
            let fixture = try await VaultFixture(ScriptedResource(length: length))
            fixture.origin.answer { [resource = fixture.resource] request in
                var answer = resource.answer(to: request)
                if request.number == 0 { answer.insert(.hold(Gate()), at: 198_000) }
                return answer
            }
            let vault = try await fixture.openHasty(stall: limit)
            #expect(try await fixture.read(vault) == 0..<length)
            await vault.close()
            return fixture.ranges == ["bytes=0-", "bytes=198000-"]
        }
        #expect(resumes)
    }

    @Test("A transfer that the origin drops while its reader pauses resumes, and uses up no retry")
    func pausedReader() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 40 << 20))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.sendTimeout = .milliseconds(300)
            return answer
        }
        var options = VaultOptions()
        // A single failure would end the reader.
        options.retry.patience = .zero
        let vault = try await Vault.open(fixture.place, unlock: fixture.unlock, options: options)
        let reader = try await vault.read(fixture.url)
        var position: Int64 = 0
        for pause in 1...3 {
            // The player pauses for longer than the origin waits. On a busy machine the origin may also have dropped a
            // transfer while the player was reading.
            await fixture.origin.wait { $0.count >= pause && $0.last?.phase == .abandoned }
            try await Task.sleep(for: FetchState.stallTime)
            let next = pause < 3 ? position + (8 << 20) : .max
            while position < next, let bytes = try await reader.next() {
                guard fixture.media.matches(bytes, at: position) else {
                    Issue.record("wrong bytes at \(position)")
                    return
                }
                position += Int64(bytes.count)
            }
        }
        #expect(position == 40 << 20 && fixture.origin.exchanges.count >= 4)
        await vault.close()
    }

    @Test("If an origin is unreachable, an opening player gets the error soon, and an active reader waits")
    func unreachable() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            if request.number == 0 { answer.cut(at: 100_000, by: .close) }
            return answer
        }
        let vault = try await fixture.openHasty(patience: .seconds(30))
        let reader = try await vault.read(fixture.url)
        var position: Int64 = 0
        while position < 50_000, let bytes = try await reader.next() { position += Int64(bytes.count) }
        fixture.origin.stop()
        async let rest: Int64 = {
            var end = position
            while let bytes = try await reader.next() { end += Int64(bytes.count) }
            return end
        }()
        let opening = await fixture.receive(vault, .from(150_000))
        #expect(opening.error?.code == .unreachable)
        try fixture.origin.start()
        #expect(try await rest == length)
        await vault.close()
        #expect(try await fixture.stored() == [0..<length])
    }

    @Test(
        "A connection that breaks every 100 KB fetches everything without a pause",
        arguments: [100_000, 256_000] as [Int64])
    func breaks(each bytes: Int64) async throws {
        let length = bytes * 60
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.cut(at: bytes, by: .close)
            return answer
        }
        // The waits would exceed this if each break counted as a failure.
        let vault = try await fixture.openHasty(patience: .seconds(20))
        #expect(try await fixture.read(vault) == 0..<length)
        #expect(fixture.origin.exchanges.count == 60 && fixture.bytesSent == length)
        await vault.close()
    }

    @Test("If an origin disappears, a reader of a whole resource gets the error soon, and a reader of a range waits")
    func gone() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let gate = Gate()
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.insert(.hold(gate), at: 100_000)
            return answer
        }
        var options = VaultOptions()
        options.retry.goneTimeLimit = .milliseconds(500)
        options.retry.patience = .seconds(250)
        let vault = try await Vault.open(fixture.place, unlock: fixture.unlock, options: options)
        let (whole, range) = (try await vault.read(fixture.url), try await vault.read(fixture.url, range: .from(0)))
        func rest(of reader: MediaReader) async -> (Int64, VaultError?) {
            var end: Int64 = 0
            do {
                while let bytes = try await reader.next() { end += Int64(bytes.count) }
                return (end, nil)
            } catch {
                return (end, error as? VaultError)
            }
        }
        async let waiting = rest(of: range)
        async let told = rest(of: whole)
        await fixture.origin.wait { $0.first?.phase == .held }
        try await vault.waitUntilFetched(100_000)
        fixture.origin.stop()
        let (end, error) = await told
        #expect(end == 100_000 && error?.code == .unreachable)
        try fixture.origin.start()
        gate.open()
        let (all, failure) = await waiting
        #expect(all == length && failure == nil)
        await vault.close()
    }

    @Test("Eight readers of a failing origin cause no more requests than one")
    func noStorm() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let gate = Gate()
        fixture.origin.answer { [resource = fixture.resource] request in
            guard request.number > 0 else {
                var answer = resource.answer(to: request)
                answer.cut(at: 100_000, by: .close)
                answer.insert(.hold(gate), at: 90_000)
                return answer
            }
            return ScriptedAnswer(503, fields: ["Content-Length": "0"])
        }
        var options = VaultOptions()
        options.retry.patience = .seconds(4)
        let vault = try await Vault.open(fixture.place, unlock: fixture.unlock, options: options)
        var readers: [MediaReader] = []
        for _ in 0..<8 { readers.append(try await vault.read(fixture.url)) }
        await withTaskGroup(of: VaultError?.self) { group in
            for reader in readers {
                group.addTask {
                    do {
                        while try await reader.next() != nil {}
                        return nil
                    } catch {
                        return error as? VaultError
                    }
                }
            }
            await fixture.origin.wait { $0.first?.phase == .held }
            gate.open()
            for await error in group { #expect(error?.code == .refused && error?.firstMissing == 100_000) }
        }
        // One schedule: at once, then within 0.25, 0.5, 1, 2, 4 seconds; on average half of that.
        #expect(fixture.origin.exchanges.count <= 31)
        let perReader = Double(fixture.origin.exchanges.count - 1) / 8
        #expect(perReader < 3, "the readers do not each have their own schedule")
        await vault.close()
        #expect(try await fixture.stored() == [0..<100_000])
    }
}
