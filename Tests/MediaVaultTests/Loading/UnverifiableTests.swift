import MediaVault
import OriginTestSupport
import Synchronization
import Testing
import VaultModel

@Suite("Content without validators, whose versions cannot be told apart", .timeLimit(.minutes(5)))
struct UnverifiableTests {
    private static let length: Int64 = 900_000
    private let old = ScriptedResource(seed: 1, length: length, entityTag: nil)
    private let new = ScriptedResource(seed: 2, length: length, entityTag: nil)
    private var versions: [PseudoRandomMedia] { [old.media, new.media] }

    /// Returns a fixture whose origin closes each connection after its answer.
    private func answer(_ fixture: VaultFixture, with resource: ScriptedResource) {
        fixture.origin.answer { request in
            var answer = resource.answer(to: request)
            answer.closes = true
            return answer
        }
    }

    @Test(
        "Bytes from another connection count as another version and start over, even within one run",
        arguments: [true, false])
    func otherConnection(fromHeld: Bool) async throws {
        let fixture = try await VaultFixture(old)
        answer(fixture, with: old)
        let vault = try await fixture.open()
        let first = await fixture.receive(vault, .closed(first: 0, last: 99_999), versions: versions)
        #expect(first.bytes == 0..<100_000)
        answer(fixture, with: new)
        let second = await fixture.receive(vault, .from(fromHeld ? 0 : 100_000), versions: [new.media])
        #expect(second.error == nil && second.wrongByte == nil && second.bytes.upperBound == Self.length)
        let connections = fixture.origin.exchanges.map(\.connection)
        #expect(connections.count >= 2 && Set(connections).count == connections.count)
        let whole = await fixture.receive(vault, versions: [new.media])
        #expect(whole.bytes == 0..<Self.length && whole.error == nil)
        await vault.close()
        #expect(try await fixture.stored(versions: [new.media]) == [0..<Self.length])
    }

    @Test("All ranges from one connection count as one version")
    func oneConnection() async throws {
        let fixture = try await VaultFixture(old)
        let vault = try await fixture.open()
        for first in [0, 100_000, 500_000] as [Int64] {
            #expect(
                try await fixture.read(vault, .closed(first: first, last: first + 99_999)) == first..<first + 100_000)
        }
        #expect(fixture.origin.exchanges.map(\.connection) == [0, 0, 0])
        #expect(try await vault.status().bytesFetched == 300_000)
        await vault.close()
        #expect(try await fixture.stored() == [0..<200_000, 500_000..<600_000])
    }

    /// Fields of answers whose date does not distinguish versions, because the content may change again within that
    /// second.
    private static let freshDates: [(name: String, fields: [(String, String)])] = [
        ("its own second", [("Last-Modified", now), ("Date", now)]),
        ("the future", [("Last-Modified", "Sun, 06 Nov 2044 08:49:37 GMT"), ("Date", now)]),
        ("the future, and no date of the answer", [("Last-Modified", "Sun, 06 Nov 2044 08:49:37 GMT")]),
        ("its own second by a clock that is years behind", [("Last-Modified", past), ("Date", past)]),
        ("its own second, from a cache", [("Last-Modified", past), ("Date", past), ("Age", "60")]),
        ("its own second, and a weak tag", [("Last-Modified", now), ("Date", now), ("ETag", "W/\"a\"")]),
    ]
    private static let (now, past) = ("Sat, 28 Nov 2026 12:00:00 GMT", "Sun, 06 Nov 1994 08:49:37 GMT")

    private func answer(_ fixture: VaultFixture, with resource: ScriptedResource, _ fields: [(String, String)]) {
        fixture.origin.answer { request in
            var answer = resource.answer(to: request)
            for (name, value) in fields { answer.set(name, value) }
            return answer
        }
    }

    @Test(
        "A date of the answer's own second joins nothing, not even on one connection", arguments: freshDates.indices)
    func freshDate(index: Int) async throws {
        let row = Self.freshDates[index]
        let fixture = try await VaultFixture(old)
        answer(fixture, with: old, row.fields)
        let vault = try await fixture.open()
        let first = await fixture.receive(vault, .closed(first: 0, last: 149_999), versions: [old.media])
        #expect(first.bytes == 0..<150_000 && first.error == nil)
        answer(fixture, with: new, row.fields)
        for range in [RequestedRange.from(150_000), .whole, .closed(first: 0, last: 99)] {
            let next = await fixture.receive(vault, range, versions: [new.media])
            #expect(next.error == nil && next.wrongByte == nil && !next.bytes.isEmpty, "\(row.name): \(range)")
        }
        #expect(Set(fixture.origin.exchanges.map(\.connection)) == [0], "premise: one connection")
        #expect(fixture.origin.exchanges.allSatisfy { $0.request.ifRange == nil })
        await vault.close()
        #expect(try await fixture.stored(versions: [new.media]) == [0..<Self.length], "\(row.name)")
    }

    @Test("A date that is old enough only at the next answer ends no reader, and what is held stays")
    func settledDate() async throws {
        let fixture = try await VaultFixture(old)
        answer(fixture, with: old, [("Last-Modified", Self.now), ("Date", Self.now)])
        let vault = try await fixture.open()
        let title = try await vault.read(fixture.url)
        var position: Int64 = 0
        if let bytes = try await title.next() { position += Int64(bytes.count) }
        answer(fixture, with: old, [("Last-Modified", Self.now), ("Date", "Sat, 28 Nov 2026 12:00:01 GMT")])
        let beside = await fixture.receive(vault, .closed(first: 700_000, last: 700_009), versions: [old.media])
        #expect(beside.bytes == 700_000..<700_010 && beside.error == nil)
        while let bytes = try await title.next() {
            #expect(old.media.matches(bytes, at: position))
            position += Int64(bytes.count)
        }
        #expect(position == Self.length)
        await vault.close()
        #expect(try await fixture.stored(versions: [old.media]) == [0..<Self.length])
    }

    @Test("A title with a date of its own second is played, and one transfer makes it whole", arguments: [1, 4])
    func freshDateWhole(connections: Int) async throws {
        let title = ScriptedResource(seed: 1, length: 20 << 20, entityTag: nil)
        let fixture = try await VaultFixture(title)
        answer(fixture, with: title, Self.freshDates[0].fields)
        let vault = try await fixture.open()
        for range in [RequestedRange.closed(first: 0, last: 99_999), .from(20_900_000)] {
            #expect(await fixture.receive(vault, range).error == nil)
        }
        for try await _ in vault.download(fixture.url, options: DownloadOptions(connections: connections)) {}
        #expect(fixture.origin.exchanges.last?.bodyBytesSent == title.media.length)
        await vault.close()
        #expect(try await fixture.stored() == [0..<title.media.length])
    }

    @Test("A few bytes are served from any position while the title is read")
    func fewBytesBeside() async throws {
        let fixture = try await VaultFixture(old)
        let vault = try await fixture.open()
        let title = try await vault.read(fixture.url)
        #expect(try await title.next() != nil)
        for first in [600_010, 700_000, Self.length - 5] as [Int64] {
            let reader = try await vault.read(fixture.url, range: .closed(first: first, last: first + 4))
            var place = first
            while let bytes = try await reader.next() {
                #expect(old.media.matches(bytes, at: place))
                place += Int64(bytes.count)
            }
            #expect(place == first + 5)
        }
        title.cancel()
        await vault.close()
    }

    @Test("Concurrent players each get one version, none is cut short, and one version is stored")
    func sideBySide() async throws {
        let fixture = try await VaultFixture(old)
        let vault = try await fixture.open()
        let title = try await vault.read(fixture.url)
        var position: Int64 = 0
        if let bytes = try await title.next() { position += Int64(bytes.count) }
        #expect(title.entityTag.isWeak, "no validator identifies its bytes")
        fixture.origin.answer { [new] in new.answer(to: $0) }
        // One player where nothing is held, and one that starts within held bytes.
        for range in [RequestedRange.from(600_000), .closed(first: 0, last: 99)] {
            let reader = try await vault.read(fixture.url, range: range)
            #expect(range != .from(600_000) || (reader.bypass == .unverifiable && reader.entityTag != title.entityTag))
            var (place, versions) = (reader.range?.lowerBound ?? 0, versions)
            while let bytes = try await reader.next() {
                versions = versions.filter { $0.matches(bytes, at: place) }
                place += Int64(bytes.count)
            }
            #expect(place == reader.range?.upperBound && !versions.isEmpty)
        }
        while let bytes = try await title.next() {
            #expect(old.media.matches(bytes, at: position), "at \(position)")
            position += Int64(bytes.count)
        }
        #expect(position == Self.length)
        await vault.close()
        #expect(try await fixture.stored() == [0..<Self.length])
    }

    @Test("A reader fails if its connection breaks, and the next one starts over")
    func brokenOff() async throws {
        let fixture = try await VaultFixture(old)
        fixture.origin.answer { [old, new] request in
            guard request.number == 0 else { return new.answer(to: request) }
            var answer = old.answer(to: request)
            answer.cut(at: 300_000, by: .reset)
            return answer
        }
        let vault = try await fixture.openHasty()
        let reception = await fixture.receive(vault, versions: versions)
        #expect(reception.wrongByte == nil && reception.error?.code == .changed)
        let next = await fixture.receive(vault, versions: [new.media])
        #expect(next.bytes == 0..<Self.length && next.error == nil)
        await vault.close()
        #expect(try await fixture.stored(versions: [new.media]) == [0..<Self.length])
    }

    @Test("A download over several connections stores one version", arguments: [1, 4])
    func download(connections: Int) async throws {
        let title = ScriptedResource(seed: 1, length: 20 << 20, entityTag: nil)
        let fixture = try await VaultFixture(title)
        answer(fixture, with: title)
        let vault = try await fixture.open()
        let options = DownloadOptions(connections: connections)
        for try await _ in vault.download(fixture.url, options: options) {}
        await vault.close()
        #expect(try await fixture.stored() == [0..<title.media.length])
    }

    @Test("If the operator declares content immutable, bytes from any connection are stored, also in a later run")
    func immutable() async throws {
        let fixture = try await VaultFixture(old)
        answer(fixture, with: old)
        let vault = try await fixture.open()
        var policy = try await vault.settings.keyPolicy()
        try policy.setImmutable("127.0.0.1")
        try await vault.settings.setKeyPolicy(policy)
        _ = try await fixture.read(vault, .closed(first: 0, last: 99_999))
        _ = try await fixture.read(vault, .closed(first: 500_000, last: 599_999))
        await vault.close()
        let again = try await fixture.open()
        #expect(try await again.settings.keyPolicy().immutable == ["127.0.0.1"])
        #expect(try await fixture.read(again) == 0..<Self.length && fixture.bytesSent == Self.length)
        await again.close()
    }
}
