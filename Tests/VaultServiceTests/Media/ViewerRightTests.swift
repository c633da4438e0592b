import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultService

@Suite("What a viewer is being sent ends with their right to it", .timeLimit(.minutes(5)))
struct ViewerRightTests {
    private static let length: Int64 = 40_000_000

    /// The event that removes the right.
    enum Loss: String, CaseIterable, CustomTestStringConvertible {
        case share, viewer, session, allLinks

        var testDescription: String { rawValue }

        fileprivate func take(_ id: TitleID, from viewer: ViewerID, _ session: BegunSession, _ vault: Vault)
            async throws
        {
            switch self {
            case .share: try await vault.viewers.share([id], with: viewer, isShared: false)
            case .viewer: try await vault.viewers.remove(viewer)
            case .session: try await vault.access.revoke([session.grant])
            case .allLinks: try await vault.keys.revokeLinks()
            }
        }
    }

    /// Shares a film with a viewer; returns the film, the viewer, their session, and the link that they got in it.
    private static func sharedLink(
        to origin: ScriptedOrigin, in vault: Vault
    ) async throws -> (id: TitleID, viewer: ViewerID, session: BegunSession, link: String) {
        for try await _ in vault.download(origin.url()) {}
        let id = try #require(try await vault.titles.summary(of: origin.url())?.id)
        let anna = try await vault.viewers.add("Anna")
        try await vault.viewers.share([id], with: anna.id)
        let session = try await vault.access.beginSession(of: anna.id, in: nil, endingFormer: nil)
        var viewer = AskingViewer(vault, anna.id)
        viewer.access = vault.tokens.access(bySession: session.secret, now: session.grant.created)
        let made = try await viewer.ask("POST", "links", #"{"id":"\#(id)"}"#).body
        let link = try JSONText.read(LinkDocument.self, from: Array(made.utf8)).path
        return (id, anna.id, session, link)
    }

    @Test("A viewer is told the bare type with its codecs, and no date of the origin, whether fetched or held")
    func fields() async throws {
        var film = ScriptedResource(seed: 6, length: 100_000, lastModified: "Mon, 01 Jan 2024 00:00:00 GMT")
        film.contentType = "video/mp4; codecs=\"avc1.4d401e\"; host=a.example"
        let origin = try ScriptedOrigin(film)
        defer { origin.stop() }
        try await RunningService.run(over: try await TestVault()) { service in
            let link = try await Self.sharedLink(to: origin, in: service.vault).link
            let client = try service.client()
            for (method, range) in [("HEAD", nil), ("GET", nil), ("GET", "bytes=0-9"), ("GET", "bytes=0-9")] {
                let fields: KeyValuePairs<String, String> = range.map { ["Range": $0] } ?? [:]
                let head = try #require(await client.ask(method, link, host: service.host, fields: fields)).head
                #expect(head.fields["content-type"] == "video/mp4; codecs=\"avc1.4d401e\"")
                #expect(head.fields["last-modified"] == nil)
            }
            let owners = try #require(try await service.ask("GET", origin.url(), ["Range": "bytes=0-9"])).head
            #expect(owners.fields["last-modified"] != nil)
        }
    }

    /// Removes the right while an answer is being sent to a player that has stopped reading. Then reads what still
    /// arrives, and returns the total number of body bytes.
    private func received(after loss: Loss, letsFinish: Bool) async throws -> Int64 {
        let origin = try ScriptedOrigin(ScriptedResource(seed: 6, length: Self.length))
        defer { origin.stop() }
        var configuration = ServiceConfiguration()
        configuration.letsFinish = letsFinish
        return try await RunningService.run(over: try await TestVault(), configuration: configuration) { service in
            let vault = service.vault
            let (id, anna, session, link) = try await Self.sharedLink(to: origin, in: vault)
            let player = try service.client(receiveBuffer: 64 << 10)
            await player.request("GET", link, host: service.host)
            #expect(await player.readHead()?.status == 200)
            let begun = await player.read(100_000).count
            try await loss.take(id, from: anna, session, vault)
            let rest = await player.read(Int(Self.length) - begun).count
            // Whatever was being sent, nothing more is begun.
            let again = try await service.client().ask("GET", link, host: service.host)
            #expect(again?.head.status == 404)
            return Int64(begun + rest)
        }
    }

    @Test("An answer ends, also to a player that has stopped reading", arguments: Loss.allCases)
    func ends(loss: Loss) async throws {
        let received = try await received(after: loss, letsFinish: false)
        // Bytes that the connection has accepted still arrive.
        #expect(received < Self.length / 2, "\(received)")
    }

    /// Runs work on the right of a viewer with whom a title is shared. The work receives a closure that removes the
    /// right.
    private func withRight(
        _ body: (ViewerRight, _ take: (Loss) async throws -> Void) async throws -> Void
    ) async throws {
        let origin = try ScriptedOrigin(ScriptedResource(seed: 6, length: 1000))
        defer { origin.stop() }
        let place = try await TestVault()
        // Its folder is removed with it.
        defer { withExtendedLifetime(place) {} }
        let vault = try await place.open()
        let (id, anna, session, link) = try await Self.sharedLink(to: origin, in: vault)
        let admission = try #require(vault.tokens.admission(ofTarget: link, now: session.grant.created))
        let right = try #require(ViewerRight(admission.scope, of: vault))
        try await body(right) { loss in try await loss.take(id, from: anna, session, vault) }
        await vault.close()
    }

    @Test("It is told that the right was lost, so that no answer ends as if it were complete", arguments: Loss.allCases)
    func told(loss: Loss) async throws {
        try await withRight { right, take in
            let (losses, lose) = AsyncStream.makeStream(of: Never.self)
            let watching = right.watch { lose.finish() }
            defer { watching.end() }
            #expect(!watching.isLost)
            try await take(loss)
            for await _ in losses {}
            #expect(watching.isLost)
        }
    }

    @Test("A right that was lost before its answer began is lost at once")
    func lostBefore() async throws {
        try await withRight { right, take in
            try await take(.share)
            let watching = right.watch {}
            #expect(watching.isLost)
            watching.end()
        }
    }

    @Test("With --let-finish it goes to its end")
    func finishes() async throws {
        #expect(try await received(after: .share, letsFinish: true) == Self.length)
    }
}
