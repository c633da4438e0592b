import MediaVault
import OriginTestSupport
import Synchronization
import Testing
import VaultModel

@Suite("Nodes of one origin that send different validators for the same bytes", .timeLimit(.minutes(5)))
struct NodesTests {
    private static let length: Int64 = 900_000
    private static let date = "Tue, 01 Jan 2019 00:00:00 GMT"
    private static let media = PseudoRandomMedia(seed: 1, length: length)

    /// The validators that the nodes send, by the number of the answer.
    struct Naming: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let tag: @Sendable (Int) -> String
    }

    private static let namings = [
        Naming(testDescription: "two in turn") { $0.isMultiple(of: 2) ? "\"a\"" : "\"b\"" },
        Naming(testDescription: "two, one of which answers seldom") { $0 % 3 == 1 ? "\"b\"" : "\"a\"" },
        Naming(testDescription: "weak ones, another each time") { "W/\"\($0)\"" },
        Naming(testDescription: "strong ones, another each time") { "\"\($0)\"" },
        Naming(testDescription: "strong and weak in turn") { ($0.isMultiple(of: 2) ? "" : "W/") + "\"a\"" },
    ]

    /// Returns a fixture whose origin has several nodes with the same media file.
    private func fixture(_ naming: Naming, date: String? = date) async throws -> VaultFixture {
        let fixture = try await VaultFixture(ScriptedResource(length: Self.length))
        fixture.origin.answer { request in
            ScriptedResource(length: Self.length, entityTag: naming.tag(request.number), lastModified: date)
                .answer(to: request)
        }
        return fixture
    }

    @Test(
        "Answers with equal length and date are one version: no reader fails, and each byte is fetched once",
        arguments: namings)
    func settled(_ naming: Naming) async throws {
        let fixture = try await fixture(naming)
        let vault = try await fixture.open()
        let slow = try await vault.read(fixture.url)
        var position: Int64 = 0
        for seek in [700_000, 400_000, 800_000, 100_000] as [Int64] {
            let tag = slow.entityTag
            let reader = try await vault.read(fixture.url, range: .closed(first: seek, last: seek + 9_999))
            #expect(reader.range == seek..<seek + 10_000 && reader.entityTag == tag)
            var place = seek
            while let bytes = try await reader.next() {
                #expect(Self.media.matches(bytes, at: place))
                place += Int64(bytes.count)
            }
            #expect(place == seek + 10_000)
        }
        while let bytes = try await slow.next() {
            #expect(Self.media.matches(bytes, at: position))
            position += Int64(bytes.count)
        }
        #expect(position == Self.length)
        await vault.close()
        #expect(try await fixture.stored() == [0..<Self.length])
        // After a restart, still only the date counts.
        let again = try await fixture.open()
        #expect(try await fixture.read(again) == 0..<Self.length)
        await again.close()
    }

    @Test("Nodes that answer many requests in a row are found when the first is back, and probed for once only")
    func sticky() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: Self.length))
        let node = Mutex("\"a\"")
        fixture.origin.answer { request in
            ScriptedResource(length: Self.length, entityTag: node.withLock(\.self), lastModified: Self.date)
                .answer(to: request)
        }
        let vault = try await fixture.open()
        func read(_ first: Int64, from tag: String) async throws -> Int {
            node.withLock { $0 = tag }
            #expect(try await fixture.read(vault, .closed(first: first, last: first + 9_999)) == first..<first + 10_000)
            return fixture.ranges.count { $0 == "bytes=0-0" }
        }
        #expect(try await read(0, from: "\"a\"") == 0)
        let probes = try await read(500_000, from: "\"b\"")
        #expect(probes > 0, "premise: the vault probed the origin")
        #expect(try await read(700_000, from: "\"a\"") == probes)
        #expect(try await read(300_000, from: "\"b\"") == probes)
        #expect(try await read(850_000, from: "\"a\"") == probes)
        await vault.close()
    }

    @Test("What the vault learned about nodes survives a restart without further probes")
    func settledBefore() async throws {
        let fixture = try await fixture(Self.namings[0])
        let vault = try await fixture.open()
        for first in [0, 300_000, 600_000] as [Int64] {
            #expect(try await fixture.read(vault, .closed(first: first, last: first + 9_999)) == first..<first + 10_000)
        }
        #expect(fixture.ranges.contains("bytes=0-0"), "premise: the vault probed the origin")
        await vault.close()
        let asked = fixture.origin.exchanges.count
        let again = try await fixture.open()
        #expect(try await fixture.read(again) == 0..<Self.length)
        let questions = fixture.origin.exchanges.dropFirst(asked).map(\.request).filter { $0.method == "GET" }
        #expect(!questions.isEmpty && questions.allSatisfy { $0.range != "bytes=0-0" && $0.ifRange == Self.date })
        await again.close()
    }

    @Test("A new version of equal length and date starts over after a few probes, and the two are not mixed")
    func version() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: Self.length, lastModified: Self.date))
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault, .closed(first: 0, last: 99_999)) == 0..<100_000)
        let newer = ScriptedResource(seed: 2, length: Self.length, entityTag: "\"v2\"", lastModified: Self.date)
        fixture.origin.answer { newer.answer(to: $0) }
        let seek = await fixture.receive(vault, .from(500_000), versions: [newer.media])
        #expect(seek.bytes == 500_000..<Self.length && seek.error == nil)
        #expect(fixture.ranges.count { $0 == "bytes=0-0" } <= 5)
        let whole = await fixture.receive(vault, versions: [newer.media])
        #expect(whole.bytes == 0..<Self.length && whole.error == nil)
        await vault.close()
        #expect(try await fixture.stored(versions: [newer.media]) == [0..<Self.length])
    }

    @Test("A reader does not wait for an origin that sends no second answer during the first", arguments: [date, nil])
    func oneAnswerAtATime(date: String?) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: Self.length, lastModified: date))
        let vault = try await fixture.openHasty { $0.probeTimeLimit = .seconds(2) }
        #expect(try await fixture.read(vault, .closed(first: 0, last: 99_999)) == 0..<100_000)
        let newer = ScriptedResource(seed: 2, length: Self.length, entityTag: "\"v2\"", lastModified: date)
        fixture.origin.answer { request in
            var answer = newer.answer(to: request)
            if request.range == "bytes=0-0" { answer.before = [.hold(Gate())] }
            return answer
        }
        let seek = await fixture.receive(vault, .from(500_000), versions: [newer.media])
        #expect(seek.bytes == 500_000..<Self.length && seek.error == nil)
        #expect(fixture.ranges.contains("bytes=0-0"), "premise: the vault sent a probe")
        await vault.close()
    }

    @Test("A later date or another length is still another version if entity tags are ignored")
    func laterVersion() async throws {
        let fixture = try await fixture(Self.namings[0])
        let vault = try await fixture.open()
        for first in [0, 300_000, 600_000] as [Int64] {
            #expect(try await fixture.read(vault, .closed(first: first, last: first + 9_999)) == first..<first + 10_000)
        }
        let newer = ScriptedResource(
            seed: 2, length: Self.length, entityTag: "\"a\"", lastModified: "Wed, 01 Jan 2020 00:00:00 GMT")
        fixture.origin.answer { newer.answer(to: $0) }
        let reception = await fixture.receive(vault, .from(700_000), versions: [newer.media])
        #expect(reception.bytes == 700_000..<Self.length && reception.error == nil)
        let whole = await fixture.receive(vault, versions: [newer.media])
        #expect(whole.bytes == 0..<Self.length && whole.wrongByte == nil)
        await vault.close()
        #expect(try await fixture.stored(versions: [newer.media]) == [0..<Self.length])
    }

    @Test(
        "Without a date, entity tags that differ in each answer are ignored, and the title plays",
        arguments: namings[2...3])
    func eachTime(_ naming: Naming) async throws {
        let fixture = try await fixture(naming, date: nil)
        let vault = try await fixture.open()
        for first in [500_000, 700_000] as [Int64] {
            let reception = await fixture.receive(vault, .closed(first: first, last: first + 49_999))
            #expect(reception.bytes == first..<first + 50_000 && reception.error == nil)
        }
        let whole = await fixture.receive(vault)
        #expect(whole.bytes == 0..<Self.length && whole.error == nil && whole.wrongByte == nil)
        await vault.close()
        #expect(try await fixture.stored() == [0..<Self.length])
    }

    @Test("Once the operator turns entity tags off, they are neither sent nor compared, and the setting can be undone")
    func byOperator() async throws {
        let fixture = try await fixture(Self.namings[0])
        let vault = try await fixture.open()
        var policy = try await vault.settings.keyPolicy()
        try policy.ignoreEntityTag(of: "127.0.0.1")
        try await vault.settings.setKeyPolicy(policy)
        for first in [0, 300_000, 600_000] as [Int64] {
            #expect(
                try await fixture.read(vault, .closed(first: first, last: first + 39_999)) == first..<first + 40_000)
        }
        #expect(fixture.ranges == ["bytes=0-39999", "bytes=300000-339999", "bytes=600000-639999"])
        #expect(fixture.origin.exchanges.last?.request.ifRange == Self.date)
        await vault.close()
        // The setting is sealed with the others.
        let again = try await fixture.open()
        #expect(try await again.settings.keyPolicy().ignoreEntityTag == ["127.0.0.1"])
        #expect(try await fixture.read(again) == 0..<Self.length && fixture.bytesSent == Self.length)
        policy = try await again.settings.keyPolicy()
        try policy.ignoreEntityTag(of: "127.0.0.1", false)
        try await again.settings.setKeyPolicy(policy)
        #expect(try await again.settings.keyPolicy().ignoreEntityTag.isEmpty)
        await again.close()
    }
}
