import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@Suite("Titles that change with each answer, such as a recording that grows", .timeLimit(.minutes(5)))
struct GrowingOriginTests {
    /// How each version differs from the previous one, apart from its length and its bytes.
    enum Mark: CaseIterable, Sendable {
        case strongTag, weakTag, date, nothing
    }

    private static func version(_ number: Int, _ mark: Mark) -> ScriptedResource {
        var resource = ScriptedResource(
            seed: UInt64(number + 1), length: 1_000_000 + Int64(number) * 50_000, entityTag: nil)
        switch mark {
        case .strongTag: resource.entityTag = "\"\(number)\""
        case .weakTag: resource.entityTag = "W/\"\(number)\""
        case .date:
            resource.lastModified = "Sun, 06 Nov 1994 08:49:\(number < 10 ? "0" : "")\(number) GMT"
        case .nothing: break
        }
        return resource
    }

    private static let versions = (0..<59).map { version($0, .nothing).media }

    @Test(
        "Each range of which nothing is held is all of one version, and nothing mixed is kept",
        arguments: Mark.allCases, [true, false])
    func ranges(mark: Mark, honoursIfRange: Bool) async throws {
        let fixture = try await VaultFixture(Self.version(0, mark))
        fixture.origin.answer { request in
            let resource = Self.version(request.number, mark)
            guard !honoursIfRange, let range = request.range else { return resource.answer(to: request) }
            return resource.answer(toRange: range, request)
        }
        let vault = try await fixture.openHasty()
        let ranges: [ByteRange] = [
            0..<90_000, 400_000..<490_000, 90_000..<180_000, 700_000..<900_000, 120_000..<200_000, 0..<60_000, 10..<20,
            600_000..<1_000_000,
        ]
        for range in ranges {
            let reception = await fixture.receive(
                vault, .closed(first: range.lowerBound, last: range.upperBound - 1), versions: Self.versions
            )
            #expect(reception.error == nil, "\(range): \(String(describing: reception.error))")
            #expect(reception.wrongByte == nil && reception.bytes == range, "\(range)")
        }
        await vault.close()
        #expect(try await fixture.stored(versions: Self.versions) != nil)
    }

    @Test(
        "Of ranges one after the other, at most one breaks off at a change",
        arguments: Mark.allCases)
    func oneAfterTheOther(mark: Mark) async throws {
        let fixture = try await VaultFixture(Self.version(0, mark))
        fixture.origin.answer { Self.version($0.number, mark).answer(to: $0) }
        let vault = try await fixture.openHasty()
        var broken: [Int64] = []
        for number in 0..<Int64(10) {
            let range = number * 90_000..<(number + 1) * 90_000
            let reception = await fixture.receive(
                vault, .closed(first: range.lowerBound, last: range.upperBound - 1), versions: Self.versions
            )
            #expect(reception.wrongByte == nil, "\(range)")
            if reception.bytes != range { broken.append(number) }
        }
        #expect(broken.count <= 1, "\(broken)")
        await vault.close()
    }

    @Test("What no reader can go on with is not read on")
    func unwantedAnswer() async throws {
        let fixture = try await VaultFixture(Self.version(0, .strongTag))
        let vault = try await fixture.openHasty()
        _ = await fixture.receive(vault, .closed(first: 0, last: 89_999))
        let newer = Self.version(1, .strongTag)
        fixture.origin.answer { newer.answer(to: $0) }
        let reception = await fixture.receive(vault, .closed(first: 80_000, last: 169_999))
        #expect(reception.error?.code == .changed && reception.bytes == 80_000..<90_000, "premise")
        await vault.close()
        #expect(try await fixture.stored()?.allSatisfy { $0.upperBound <= 90_000 } == true)
    }

    @Test("Readers side by side each get one version to its end", arguments: Mark.allCases)
    func sideBySide(mark: Mark) async throws {
        let fixture = try await VaultFixture(Self.version(0, mark))
        fixture.origin.answer { Self.version($0.number, mark).answer(to: $0) }
        let vault = try await fixture.openHasty()
        var readers: [(reader: MediaReader, position: Int64, versions: [PseudoRandomMedia])] = []
        for range in [
            RequestedRange.whole, .from(500_000), .closed(first: 0, last: 899_999), .from(800_000),
        ] {
            let reader = try await vault.read(fixture.url, range: range)
            readers.append((reader, reader.range?.lowerBound ?? 0, Self.versions))
            // Each takes its first bytes before the next one starts.
            for index in readers.indices {
                guard let bytes = try await readers[index].reader.next() else { continue }
                readers[index].versions.removeAll { [position = readers[index].position] in
                    !$0.matches(bytes, at: position)
                }
                readers[index].position += Int64(bytes.count)
            }
        }
        for index in readers.indices {
            while let bytes = try await readers[index].reader.next() {
                readers[index].versions.removeAll { [position = readers[index].position] in
                    !$0.matches(bytes, at: position)
                }
                readers[index].position += Int64(bytes.count)
            }
            #expect(readers[index].position == readers[index].reader.range?.upperBound, "reader \(index)")
            #expect(!readers[index].versions.isEmpty, "reader \(index)")
        }
        await vault.close()
        #expect(try await fixture.stored(versions: Self.versions) != nil)
    }
}

extension ScriptedResource {
    /// Answers with the range although `If-Range` names another version.
    fileprivate func answer(toRange range: String, _ request: ScriptedRequest) -> ScriptedAnswer {
        var careless = self
        if let condition = request.ifRange { careless.entityTag = condition }
        var answer = careless.answer(to: request)
        answer.set("ETag", entityTag)
        return answer
    }
}
