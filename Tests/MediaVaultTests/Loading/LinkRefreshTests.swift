import OriginTestSupport
import Synchronization
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultCache

@Suite("Refreshing links that an origin refuses", .timeLimit(.minutes(2)))
struct LinkRefreshTests {
    private let length: Int64 = 400_000

    @Test(
        "Only 401, 403 and 410 to a resource with a content id ask for a new link",
        arguments: [
            (401, true), (403, true), (410, true), (404, false), (429, false), (451, false), (500, false), (206, false),
        ])
    func statuses(status: Int, isAsked: Bool) {
        #expect((RefusedLink(contentID: "a", status: status, isPrivate: false) != nil) == isAsked)
        #expect(RefusedLink(contentID: nil, status: status, isPrivate: false) == nil)
    }

    @Test("A refresh is not repeated within its interval")
    func pace() {
        var pace = LinkRefreshPace()
        let start = ContinuousClock.now
        #expect(pace.begin(now: start) == true)
        #expect(pace.begin(now: start + .seconds(RefusedLink.interval) - .milliseconds(1)) == false)
        #expect(pace.begin(now: start + .seconds(RefusedLink.interval)) == true)
    }

    @Test("Fields that stand for a user are taken only for a title that was stored for one; a link reaches no further")
    func privacy() throws {
        let url = try MediaURL("https://a.example/x")
        let plain = FreshLink(url, fields: HeaderFields(["Referer": "https://b.example/"]))
        let personal = FreshLink(url, fields: HeaderFields(["Authorization": "Bearer t"]))
        let shared = try #require(RefusedLink(contentID: "a", status: 403, isPrivate: false))
        let own = try #require(RefusedLink(contentID: "a", status: 403, isPrivate: true))
        #expect(try plain.reference(for: shared, isDerived: false).isDerived == false)
        #expect(try personal.reference(for: own, isDerived: true).isDerived)
        #expect(throws: VaultError.self) { try personal.check(for: shared) }
        let login = FreshLink(try MediaURL("https://user:word@a.example/x"))
        #expect(throws: VaultError.self) { try login.check(for: shared) }
        let broken = FreshLink(url, fields: HeaderFields(["Range": "bytes=0-"]))
        #expect(throws: VaultError.self) { try broken.check(for: own) }
    }

    /// An origin that accepts only the current signature, and the refusals that were passed to a refresher.
    private final class Signed: Sendable {
        let fixture: VaultFixture
        private let state = Mutex((good: "1", status: 403, asked: [RefusedLink]()))

        init(_ length: Int64) async throws {
            fixture = try await VaultFixture(ScriptedResource(length: length))
            fixture.origin.answer { [weak self, resource = fixture.resource] request in
                let (good, status) = self?.state.withLock { ($0.good, $0.status) } ?? ("", 500)
                guard request.target.hasSuffix("sig=\(good)") else {
                    return ScriptedAnswer(status, fields: ["Content-Length": "0"])
                }
                return resource.answer(to: request)
            }
        }

        func change(to good: String, status: Int = 403) { state.withLock { ($0.good, $0.status) = (good, status) } }

        var asked: [RefusedLink] { state.withLock { $0.asked } }

        func note(_ refused: RefusedLink) { state.withLock { $0.asked.append(refused) } }

        func url(_ signature: String) -> MediaURL { fixture.origin.url("/film.mp4?sig=\(signature)") }

        func reference(_ signature: String, id: String? = "film") -> MediaReference {
            MediaReference(url(signature), contentID: id)
        }

        /// Opens the vault, with a refresher that returns the URL with a signature.
        func open(refreshingTo signature: String? = nil) async throws -> Vault {
            let vault = try await fixture.open()
            vault.setLinkRefresher { [self] refused in
                note(refused)
                return signature.map { FreshLink(url($0)) }
            }
            return vault
        }

        func readBeginning(_ vault: Vault) async throws {
            let reader = try await vault.read(reference("1"), range: .closed(first: 0, last: 99_999))
            while try await reader.next() != nil {}
        }
    }

    @Test(
        "What is held stays held, the rest comes through the new link, and a restart uses it",
        arguments: [401, 403, 410])
    func continues(status: Int) async throws {
        let signed = try await Signed(length)
        let vault = try await signed.open(refreshingTo: "2")
        try await signed.readBeginning(vault)
        let before = signed.fixture.bytesSent
        signed.change(to: "2", status: status)
        #expect(try await signed.fixture.bytes(vault, signed.reference("1")) == length)
        #expect(signed.asked == [try #require(RefusedLink(contentID: "film", status: status, isPrivate: false))])
        #expect(signed.fixture.bytesSent < before + length, "held bytes are not fetched again")
        await vault.close()

        let again = try await signed.open(refreshingTo: "3")
        #expect(try await again.titles.summary(of: signed.reference("9"))?.url == signed.url("2").absoluteString)
        #expect(try await again.titles.summary(of: signed.reference("9"))?.bytes == length)
        await again.close()
    }

    @Test("The download queue's path refreshes, too")
    func downloads() async throws {
        let signed = try await Signed(length)
        let vault = try await signed.open(refreshingTo: "2")
        signed.change(to: "2")
        for try await _ in vault.download(signed.reference("1")) {}
        #expect(try await vault.titles.summary(of: signed.reference("1"))?.bytes == length)
        #expect(signed.asked.count == 1)
        await vault.close()
    }

    @Test("Without a content id nothing is asked, and the refusal is told")
    func withoutName() async throws {
        let signed = try await Signed(length)
        let vault = try await signed.open(refreshingTo: "2")
        signed.change(to: "2")
        let error = await #expect(throws: VaultError.self) { try await vault.read(signed.reference("1", id: nil)) }
        #expect(error?.originStatus == 403 && signed.asked.isEmpty)
        await vault.close()
    }

    @Test("A refresher that has no link, repeats the refused one, or gives another that is refused is asked once")
    func useless() async throws {
        for answer in [nil, "1", "8"] as [String?] {
            let signed = try await Signed(length)
            let vault = try await signed.open(refreshingTo: answer)
            signed.change(to: "2")
            for _ in 0..<3 {
                let error = await #expect(throws: VaultError.self) { try await vault.read(signed.reference("1")) }
                #expect(error?.code == .refused && error?.originStatus == 403)
            }
            #expect(signed.asked.count == 1, "\(answer ?? "none")")
            await vault.close()
        }
    }

    @Test("Several readers of one title share one refresh")
    func shared() async throws {
        let signed = try await Signed(length)
        let vault = try await signed.open(refreshingTo: "2")
        try await signed.readBeginning(vault)
        signed.change(to: "2")
        try await withThrowingTaskGroup { group in
            for start in [110_000, 180_000, 250_000, 320_000] as [Int64] {
                group.addTask {
                    let reader = try await vault.read(
                        signed.reference("1"), range: .closed(first: start, last: start + 20_000))
                    var count = 0
                    while let bytes = try await reader.next() { count += bytes.count }
                    #expect(count == 20_001)
                }
            }
            try await group.waitForAll()
        }
        #expect(signed.asked.count == 1)
        await vault.close()
    }

    @Test("A new link to other content begins another representation: no byte of both is mixed")
    func otherContent() async throws {
        let signed = try await Signed(length)
        let vault = try await signed.fixture.open()
        try await signed.readBeginning(vault)
        let other = ScriptedResource(seed: 77, length: length, entityTag: "\"v2\"")
        let elsewhere = try ScriptedOrigin(other)
        defer { elsewhere.stop() }
        vault.setLinkRefresher { _ in FreshLink(elsewhere.url()) }
        signed.change(to: "none")
        var bytes: [UInt8] = []
        do {
            for try await more in try await vault.read(signed.reference("1")) { bytes += more }
        } catch let error as VaultError {
            // A reader that has old bytes is told that the content changed.
            #expect(error.code == .changed)
        }
        #expect(signed.fixture.media.matches(bytes, at: 0) || other.media.matches(bytes, at: 0))
        var all: [UInt8] = []
        for try await more in try await vault.read(signed.reference("1")) { all += more }
        #expect(all.count == Int(length) && other.media.matches(all, at: 0))
        await vault.close()
    }

    @Test("A request that was refused with older fields does not discredit the same URL with new ones")
    func newFields() throws {
        let url = try MediaURL("https://a.example/x")
        let (old, new) = ("old", "new")
        func fields(_ value: String) -> OriginFields? {
            OriginFields(HeaderFields(["X-Key": value]), for: url)
        }
        var list = OriginURLList(url, fields: fields(old))
        #expect(list.refuse(url, sentWith: fields(old)) == false)
        list.give(url, fields: fields(new))
        #expect(list.refuse(url, sentWith: fields(old)) == true && list.isLeft)
        #expect(list.refuse(url, sentWith: fields(new)) == false)
    }
}
