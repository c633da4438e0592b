import Testing
import VaultManifest
import VaultModel
import VaultStorage

@testable import MediaVault

@Suite("What is remembered of manifests that are being played")
struct PlayedManifestTests {
    private final class Owner: Sendable {}

    private let url = MediaURL(scheme: "https", host: "a.example", port: nil, path: "/x.m3u8", query: "part=1")
    private let start = ContinuousClock.now

    private func id(_ number: UInt8) throws -> ResourceID {
        try #require(ResourceID(bytes: Array(repeating: number, count: 32)))
    }

    private func scope(_ expires: Int64 = 10) -> LinkScope {
        LinkScope(url: url, capability: "c", folder: "/", expires: expires)
    }

    private func text(_ count: Int, _ version: String = "1", expires: Int64 = 10) -> PlayedManifests.Text {
        PlayedManifests.Text(
            manifest: RewrittenManifest(kind: .hls, bytes: Array(repeating: 1, count: count)), version: version,
            scope: scope(expires), service: "", revision: 1)
    }

    private func text(kind: ManifestKind) -> PlayedManifests.Text {
        PlayedManifests.Text(
            manifest: RewrittenManifest(kind: kind, bytes: [1]), version: "1", scope: scope(), service: "", revision: 1)
    }

    private func live(_ text: String, confirmed: ContinuousClock.Instant?) throws -> LiveManifest {
        LiveManifest(
            manifest: try Manifest(Array(text.utf8), kind: .hls, url: url),
            information: ContentInformation(length: nil, type: nil, validators: Validators(), supportsRanges: false),
            version: "1", variables: [:], confirmed: confirmed)
    }

    @Test("A text is given for the link and the keyring that it was made for, until there is another")
    func texts() throws {
        var played = PlayedManifests()
        let (one, owner) = (try id(1), Owner())
        _ = played.lock(of: one, owner: owner)
        #expect(!played.contains(one))
        played.keep(text(5), of: one)
        #expect(played.contains(one) && played.text(of: one, for: scope(), at: "", revision: 1)?.version == "1")
        #expect(played.text(of: one, for: scope(11), at: "", revision: 1) == nil, "another link")
        #expect(played.text(of: one, for: scope(), at: "http://a", revision: 1) != nil, "a playlist does not name it")
        #expect(played.text(of: one, for: scope(), at: "", revision: 2) == nil, "links were revoked")
        #expect(played.text(of: try id(2), for: scope(), at: "", revision: 1) == nil)
        played.keep(text(5, "2"), of: one)
        #expect(played.text(of: one, for: scope(), at: "", revision: 1)?.version == "2")
        played.keep(text(kind: .dash), of: one)
        #expect(played.text(of: one, for: scope(), at: "", revision: 1) != nil)
        #expect(played.text(of: one, for: scope(), at: "http://a", revision: 1) == nil, "another name of the service")
        played.removeAll()
        #expect(played.text(of: one, for: scope(), at: "", revision: 1) == nil && !played.contains(one))
        withExtendedLifetime(owner) {}
    }

    @Test("The least recently used texts make room, and one that is too large is not kept")
    func room() throws {
        var played = PlayedManifests(maxBytes: 10)
        let (ids, owner) = (try [id(1), id(2), id(3)], Owner())
        for one in ids {
            _ = played.lock(of: one, owner: owner)
            played.keep(text(4), of: one)
        }
        #expect(ids.map { played.text(of: $0, for: scope(), at: "", revision: 1) != nil } == [false, true, true])
        _ = played.lock(of: ids[1], owner: owner)
        _ = played.lock(of: ids[0], owner: owner)
        played.keep(text(6), of: ids[0])
        #expect(ids.map { played.text(of: $0, for: scope(), at: "", revision: 1) != nil } == [true, true, false])
        played.keep(text(11), of: ids[0])
        #expect(ids.allSatisfy { played.text(of: $0, for: scope(), at: "", revision: 1) == nil })
        #expect(played.contains(ids[0]), "that it is a manifest is still known")
        withExtendedLifetime(owner) {}
    }

    @Test("A large text that was refused is known again, and no other")
    func refusals() throws {
        var played = PlayedManifests()
        let (one, owner) = (try id(1), Owner())
        let large = { (byte: UInt8) in
            ManifestDigest(of: Array(repeating: byte, count: ManifestSemaphore.smallBytes + 1))
        }
        let (digest, other) = (large(1), large(2))
        _ = played.lock(of: one, owner: owner)
        played.refuse(digest, VaultError(.invalidResponse, "no"), of: one)
        #expect(played.refusal(of: digest, one)?.message == "no" && played.refusal(of: other, one) == nil)
        #expect(played.refusal(of: digest, try id(2)) == nil)
        withExtendedLifetime(owner) {}
    }

    @Test("Nothing of a manifest is remembered longer than its loader lives")
    func owner() throws {
        var played = PlayedManifests()
        let one = try id(1)
        do {
            let owner = Owner()
            _ = played.lock(of: one, owner: owner)
            played.keep(text(5), of: one)
            played.keep(try live("#EXTM3U\n", confirmed: start), of: one, at: url)
            #expect(played.contains(one))
            withExtendedLifetime(owner) {}
        }
        #expect(!played.contains(one))
        let next = Owner()
        _ = played.lock(of: one, owner: next)
        #expect(played.live(one) == nil && played.text(of: one, for: scope(), at: "", revision: 1) == nil)
        withExtendedLifetime(next) {}
    }

    @Test("A live manifest is expected at its URL with any query, until it has ended")
    func likelyLive() throws {
        var played = PlayedManifests()
        let (one, owner) = (try id(1), Owner())
        let next = MediaURL(scheme: "https", host: "a.example", port: nil, path: "/x.m3u8", query: "part=2")
        let other = MediaURL(scheme: "https", host: "a.example", port: nil, path: "/y.m3u8", query: "part=1")
        _ = played.lock(of: one, owner: owner)
        #expect(!played.isLikelyLive(next))
        played.keep(try live("#EXTM3U\n", confirmed: start), of: one, at: url)
        #expect(played.isLikelyLive(next) && !played.isLikelyLive(other))
        played.keep(nil, of: one, at: url)
        #expect(!played.isLikelyLive(next))
        withExtendedLifetime(owner) {}
    }

    @Test("The origin is asked every half second at most, and a copy is of use for as long as what it names plays")
    func freshness() throws {
        let window = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\na.ts\n#EXTINF:4,\nb.ts\n"
        let copy = try live(window, confirmed: start)
        #expect(copy.manifest.isLive)
        #expect(copy.isRecent(now: start + .milliseconds(499)) && !copy.isRecent(now: start + .milliseconds(500)))
        var worked = copy
        worked.work = .seconds(3)
        #expect(worked.isRecent(now: start + .seconds(11)) && !worked.isRecent(now: start + .seconds(12)))
        #expect(copy.isOfUse(now: start + .seconds(7)) && !copy.isOfUse(now: start + .seconds(8)))
        let old = try live(window, confirmed: nil)
        #expect(!old.isRecent(now: start) && !old.isOfUse(now: start), "it was stored in an earlier run")
        let empty = try live("#EXTM3U\n#EXT-X-TARGETDURATION:4\n", confirmed: start)
        #expect(empty.isOfUse(now: start + .seconds(29)) && !empty.isOfUse(now: start + .seconds(30)))
    }

    @Test("Live manifests make room for the newest one: those that were not used for the longest time are read again")
    func liveRoom() throws {
        let text = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\na.ts\n"
        let weight = try live(text, confirmed: start).manifest.weight
        var played = PlayedManifests(maxWeight: 2 * weight)
        let owners = (1...4).map { _ in Owner() }
        for (number, owner) in owners.enumerated() {
            _ = played.lock(of: try id(UInt8(number)), owner: owner)
            played.keep(try live(text, confirmed: start), of: try id(UInt8(number)), at: url)
        }
        #expect(try (0...3).map { played.live(try id($0)) != nil } == [false, false, true, true])
        var small = PlayedManifests(maxWeight: 1)
        _ = small.lock(of: try id(1), owner: owners[0])
        small.keep(try live(text, confirmed: start), of: try id(1), at: url)
        #expect(try small.live(id(1)) != nil, "the one in use stays")
        withExtendedLifetime(owners) {}
    }
}
