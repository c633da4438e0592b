import MediaVault
import OriginTestSupport
import Testing

@Suite("Origins that send invalid responses", .timeLimit(.minutes(5)))
struct InvalidResponseTests {
    private func fixture() async throws -> VaultFixture { try await VaultFixture(ScriptedResource(length: Lie.length)) }

    private func lie(_ fixture: VaultFixture, _ lie: Lie) {
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            if request.range == nil {
                // It sends an invalid answer to every request.
                answer.status = 206
                answer.set("Content-Range", "bytes 0-\(Lie.length - 1)/\(Lie.length)")
            }
            lie.spoil(&answer, request)
            return answer
        }
    }

    /// Returns the maximum number of requests for an invalid response. Ten redirects are followed, and no request is
    /// repeated, but the whole is requested if the answer to a range cannot be used.
    private func most(_ lie: Lie) -> Int { lie.testDescription.contains("circle") ? 11 : 2 }

    @Test("An origin that answers ranges wrongly is asked for the whole", arguments: Lie.aboutRanges)
    func whole(_ lie: Lie) async throws {
        let fixture = try await fixture()
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            if request.range != nil { lie.spoil(&answer, request) }
            return answer
        }
        let vault = try await fixture.openHasty()
        // From an origin without ranges, a player also gets the whole.
        #expect(try await fixture.read(vault, .closed(first: 100_000, last: 149_999)).contains(100_000..<150_000))
        #expect(fixture.ranges.count == 2 && fixture.ranges[1] == "none", "\(fixture.ranges)")
        #expect(try await fixture.read(vault) == 0..<Lie.length)
        await vault.close()
        let offline = try await fixture.open(.reader)
        #expect(try await fixture.read(offline) == 0..<Lie.length)
        await offline.close()
    }

    @Test(
        "If the first response is invalid, reading fails with one sentence, and nothing is stored or requested again",
        arguments: Lie.aboutRanges + Lie.aboutBodies)
    func atFirst(_ lie: Lie) async throws {
        let fixture = try await fixture()
        self.lie(fixture, lie)
        let vault = try await fixture.openHasty()
        let reception = await fixture.receive(vault, .from(0))
        #expect(reception.error?.code == .invalidResponse && reception.bytes.isEmpty && reception.wrongByte == nil)
        #expect(reception.error.map { $0.message.contains("127.0.0.1") && !$0.message.contains("\n") } == true)
        #expect(fixture.origin.exchanges.count <= most(lie))
        #expect(most(lie) > 2 || Set(fixture.ranges).count == fixture.ranges.count)
        #expect(try await vault.titles.summary(of: fixture.url) == nil)
        // A later valid response is accepted.
        fixture.origin.answer { [resource = fixture.resource] in resource.answer(to: $0) }
        #expect(try await fixture.read(vault) == 0..<Lie.length)
        await vault.close()
    }

    @Test(
        "If a later response is invalid, held bytes are served up to it and stay held",
        arguments: Lie.aboutRanges + Lie.aboutBodies)
    func onTheWay(_ lie: Lie) async throws {
        let fixture = try await fixture()
        let vault = try await fixture.openHasty()
        #expect(try await fixture.read(vault, .closed(first: 0, last: 99_999)) == 0..<100_000)
        self.lie(fixture, lie)
        let reception = await fixture.receive(vault)
        #expect(reception.bytes == 0..<100_000 && reception.wrongByte == nil)
        #expect(reception.error?.code == .invalidResponse && reception.error?.firstMissing == 100_000)
        // A HEAD may have been sent before.
        #expect(fixture.origin.exchanges.count <= 2 + 2 * most(lie))
        await vault.close()
        #expect(try await fixture.stored() == [0..<100_000])
    }

    /// The excess that follows the bytes that the head of an answer states.
    enum Excess: CaseIterable {
        /// One byte, in a chunk of its own.
        case byte
        /// As many bytes again.
        case again
        /// The file from its beginning, in place of the range.
        case whole
    }

    @Test(
        "If a body is longer than its head states, nothing that it brought stays held", arguments: Excess.allCases,
        [RequestedRange.closed(first: 100_000, last: 149_999), .from(100_000)])
    func longerBody(_ excess: Excess, _ range: RequestedRange) async throws {
        let fixture = try await fixture()
        let vault = try await fixture.openHasty()
        #expect(try await fixture.read(vault, .closed(first: 0, last: 49_999)) == 0..<50_000)
        fixture.origin.answer { [resource = fixture.resource, media = fixture.media] request in
            var answer = resource.answer(to: request)
            answer.sendInChunks()
            switch excess {
            case .byte: answer.body.append(.bytes([7]))
            case .again: answer.body += answer.body
            case .whole: answer.body = [.bytes(media.bytes(0..<Lie.length))]
            }
            return answer
        }
        _ = await fixture.receive(vault, range)
        await vault.close()
        #expect(try await fixture.stored() == [0..<50_000])
    }

    @Test("A 416 without a length, for a byte that must exist, is an invalid response")
    func unsatisfiableWithin() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.openHasty()
        #expect(try await fixture.read(vault, .closed(first: 0, last: 99_999)) == 0..<100_000)
        fixture.origin.answer { [resource = fixture.resource] request in
            request.method == "HEAD"
                ? resource.answer(to: request) : ScriptedAnswer(416, fields: ["Content-Length": "0"])
        }
        let reception = await fixture.receive(vault, .from(100_000))
        #expect(reception.error?.code == .invalidResponse)
        await vault.close()
        #expect(try await fixture.stored() == [0..<100_000])
    }

    @Test("A 200 for a range is used from its offset, and the bytes before the offset are kept as well")
    func wholeForRange() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.openHasty()
        #expect(try await fixture.read(vault, .closed(first: 100_000, last: 149_999)) == 100_000..<150_000)
        fixture.origin.answer { [resource = fixture.resource] request in
            var resource = resource
            resource.supportsRanges = false
            return resource.answer(to: request)
        }
        // This reader was open when the origin stopped supporting ranges.
        let reception = await fixture.receive(vault, .closed(first: 140_000, last: 199_999))
        #expect(reception.bytes == 140_000..<200_000 && reception.error == nil && reception.wrongByte == nil)
        #expect(fixture.origin.exchanges.count <= 3)
        await vault.close()
        let stored = try #require(try await fixture.stored())
        #expect(ByteRanges(stored).isSuperset(of: ByteRanges(0..<200_000)))
    }

    @Test("A part shorter than requested is accepted, and the rest is requested")
    func shorterParts() async throws {
        let fixture = try await fixture()
        fixture.origin.answer { [resource = fixture.resource] request in
            guard case .ranges(let ranges) = RangeHeader(request.range), let first = ranges[0].firstByte,
                first < Lie.length
            else { return resource.answer(to: request) }
            let end = min(first + 70_000, Lie.length)
            var answer = resource.answer(to: request)
            answer.set("Content-Range", "bytes \(first)-\(end - 1)/\(Lie.length)")
            answer.set("Content-Length", "\(end - first)")
            answer.body = [.media(resource.media, first..<end)]
            return answer
        }
        let vault = try await fixture.openHasty()
        #expect(try await fixture.read(vault) == 0..<Lie.length)
        #expect(fixture.origin.exchanges.count == 5 && fixture.bytesSent == Lie.length)
        await vault.close()
    }

    @Test("A resource of unknown length ends if the origin reports that no byte follows", arguments: [true, false])
    func unknownTotal(saysTotal: Bool) async throws {
        let fixture = try await fixture()
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            guard answer.status == 206, case .ranges(let ranges) = RangeHeader(request.range),
                let first = ranges[0].firstByte
            else {
                if !saysTotal { answer.set("Content-Range", nil) }
                return answer
            }
            let end = min(first + 200_000, Lie.length)
            answer.set("Content-Range", "bytes \(first)-\(end - 1)/*")
            answer.set("Content-Length", "\(end - first)")
            answer.body = [.media(resource.media, first..<end)]
            return answer
        }
        let vault = try await fixture.openHasty()
        #expect(try await fixture.read(vault) == 0..<Lie.length)
        #expect(try await vault.information(for: fixture.url).length == Lie.length)
        #expect(fixture.origin.exchanges.count == 3)
        await vault.close()
        #expect(try await fixture.stored() == [0..<Lie.length])
    }

    @Test("A length of a petabyte is accepted, and nothing is allocated for it in advance")
    func petabyte() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 1 << 50))
        let vault = try await fixture.openHasty()
        #expect(try await fixture.read(vault, .suffix(70_000)) == (1 << 50) - 70_000..<1 << 50)
        #expect(try await fixture.read(vault, .closed(first: 5 << 30, last: 5 << 30 + 99)) == 5 << 30..<5 << 30 + 100)
        #expect(try await vault.status().bytesFetched < 1 << 20)
        await vault.close()
    }

    @Test("Beyond 4 GiB every byte is right, held or fetched by a seek, near the end and across the boundary")
    func beyondFourGigabytes() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 5 << 30))
        let edge: Int64 = 1 << 32
        let vault = try await fixture.openHasty()
        #expect(
            try await fixture.read(vault, .closed(first: edge - 50_000, last: edge + 49_999)) == edge - 50_000..<edge
                + 50_000)
        #expect(try await fixture.read(vault, .suffix(1)) == (5 << 30) - 1..<5 << 30)
        await vault.close()
        #expect(try await fixture.stored() == [edge - 50_000..<edge + 50_000, (5 << 30) - 32_768..<5 << 30])
    }

    @Test("Bytes after the end of an answer are ignored, whenever they arrive", arguments: [true, false])
    func extraBytes(comeLate: Bool) async throws {
        let fixture = try await fixture()
        let gate = Gate()
        let lies = Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlies".utf8)
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            guard request.number == 0, case .media(let media, let range) = answer.body.first else { return answer }
            // With the last piece, so that both arrive together, or only after the answer has ended.
            let cut = range.upperBound - 1000
            let end = media.bytes(cut..<range.upperBound)
            let rest: [ScriptedStep] = comeLate ? [.bytes(end), .hold(gate), .bytes(lies)] : [.bytes(end + lies)]
            answer.body = [.media(media, range.lowerBound..<cut)] + rest
            return answer
        }
        let vault = try await fixture.openHasty()
        #expect(try await fixture.read(vault, .closed(first: 0, last: 99_999)) == 0..<100_000)
        gate.open()
        await fixture.origin.wait { $0[0].phase == .done || $0[0].phase == .abandoned }
        #expect(fixture.origin.exchanges[0].bodyBytesSent == 100_000 + Int64(lies.count), "premise: they were sent")
        #expect(try await fixture.read(vault) == 0..<Lie.length)
        #expect(fixture.origin.exchanges.map(\.connection) == [0, 1])
        await vault.close()
        #expect(try await fixture.stored() == [0..<Lie.length])
    }
}
