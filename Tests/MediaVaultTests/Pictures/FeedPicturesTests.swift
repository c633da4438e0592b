import Testing
import VaultModel

@testable import MediaVault

@Suite("Pictures of feeds in memory")
struct FeedPicturesTests {
    private static func reference(_ path: String) throws -> MediaReference {
        MediaReference(try MediaURL("https://a.example/\(path)"))
    }

    private static func picture(_ count: Int = 24) -> Picture? { Picture(PicturedMedia.jpeg(count)) }

    /// Counts how often pictures are requested.
    private final class Origin: Sendable {
        let asked = Locked(0)

        func send(_ picture: Picture?) -> Picture? {
            asked.withLock { $0 += 1 }
            return picture
        }
    }

    @Test(
        "A picture is asked for once, also by several at a time, and also if it cannot be had",
        arguments: [true, false])
    func once(isThere: Bool) async throws {
        let (pictures, origin) = (FeedPictures(), Origin())
        let (reference, sent) = (try Self.reference("a"), isThere ? Self.picture() : nil)
        try await withThrowingTaskGroup(of: Picture?.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await pictures.picture(at: reference) {
                        try await Task.sleep(for: .milliseconds(5))
                        return origin.send(sent)
                    }
                }
            }
            for try await found in group { #expect(found == sent) }
        }
        #expect(origin.asked.withLock(\.self) == 1)
    }

    @Test("A host that was too slow counts as slow for an hour; of too many, all get another chance")
    func slow() {
        let (pictures, now) = (FeedPictures(), ContinuousClock.now)
        pictures.noteSlow("a.example", now: now)
        #expect(pictures.isSlow("a.example", now: now + .seconds(3599)) && !pictures.isSlow("b.example", now: now))
        #expect(!pictures.isSlow("a.example", now: now + .seconds(3600)))
        for number in 0..<256 { pictures.noteSlow("\(number).example", now: now) }
        #expect(!pictures.isSlow("a.example", now: now) && pictures.isSlow("255.example", now: now))
    }

    @Test("One that is requested otherwise, or that is an hour old, is asked for again, as is one after an error")
    func again() async throws {
        let (pictures, origin) = (FeedPictures(), Origin())
        var reference = try Self.reference("a")
        let now = ContinuousClock.now
        func ask(at time: ContinuousClock.Instant) async throws {
            _ = try await pictures.picture(at: reference, now: time) { origin.send(Self.picture()) }
        }
        try await ask(at: now)
        try await ask(at: now + .seconds(3599))
        #expect(origin.asked.withLock(\.self) == 1)
        try await ask(at: now + .seconds(3600))
        #expect(origin.asked.withLock(\.self) == 2)
        reference.isDerived = true
        try await ask(at: now)
        #expect(origin.asked.withLock(\.self) == 3)
        reference.fields = HeaderFields(["Authorization": "Bearer one"])
        await #expect(throws: CancellationError.self) {
            try await pictures.picture(at: reference) { throw CancellationError() }
        }
        try await ask(at: now)
        #expect(origin.asked.withLock(\.self) == 4)
    }

    @Test("What was used least recently makes room, and a closed vault keeps nothing")
    func bounded() async throws {
        let (pictures, origin) = (FeedPictures(), Origin())
        func ask(_ number: Int) async throws {
            _ = try await pictures.picture(at: Self.reference("\(number)")) { origin.send(Self.picture(1 << 20)) }
        }
        for number in 0..<9 {
            try await ask(number)
            try await ask(0)
        }
        #expect(origin.asked.withLock(\.self) == 9)
        try await ask(1)
        #expect(origin.asked.withLock(\.self) == 10)
        pictures.end()
        for _ in 0..<2 { try await ask(0) }
        #expect(origin.asked.withLock(\.self) == 12)
    }
}
