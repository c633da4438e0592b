import Foundation
import MediaVault
import OriginTestSupport
import Testing

@Suite("Request fields from a caller", .timeLimit(.minutes(5)))
struct CredentialTests {
    private let length: Int64 = 200_000

    /// Returns an origin that serves each of two users their own title, and refuses all others.
    private func fixture() async throws -> VaultFixture {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let theirs = ScriptedResource(seed: 2, length: length)
        fixture.origin.answer { [resource = fixture.resource] request in
            switch request.fields["Authorization"] {
            case "Bearer one", "Basic b25lOg==": resource.answer(to: request)
            case "Bearer two": theirs.answer(to: request)
            default: ScriptedAnswer(401, fields: ["Content-Length": "0"])
            }
        }
        return fixture
    }

    private func reference(_ fixture: VaultFixture, _ user: String) -> MediaReference {
        MediaReference(fixture.url, fields: HeaderFields(["Authorization": "Bearer \(user)"]))
    }

    private func read(_ vault: Vault, _ reference: MediaReference, _ range: RequestedRange) async throws -> [UInt8] {
        var all: [UInt8] = []
        for try await bytes in try await vault.read(reference, range: range) { all += bytes }
        return all
    }

    @Test("Fields are sealed with the resource and used for later fetches by plain URL, after a restart too")
    func kept() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let refused = await #expect(throws: VaultError.self) { try await vault.read(fixture.url) }
        #expect(refused?.originStatus == 401)
        _ = try await read(vault, reference(fixture, "one"), .closed(first: 0, last: 99))
        #expect(try await fixture.read(vault, .closed(first: 50_000, last: 50_099)) == 50_000..<50_100)
        await vault.close()
        let again = try await fixture.open()
        #expect(try await fixture.read(again) == 0..<length)
        await again.close()
        let held = try await fixture.open(.reader)
        #expect(try await held.titles.summary(of: fixture.url)?.isComplete == true)
        #expect(try await fixture.read(held) == 0..<length)
        await held.close()
    }

    @Test("Two users never share a body, and the plain URL then names neither")
    func twoUsers() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let one = try await read(vault, reference(fixture, "one"), .whole)
        let two = try await read(vault, reference(fixture, "two"), .whole)
        #expect(fixture.media.matches(one, at: 0) && one.count == Int(length) && two.count == one.count && one != two)
        #expect(try await read(vault, reference(fixture, "one"), .whole) == one)
        #expect(fixture.bytesSent == 2 * length)
        let error = await #expect(throws: VaultError.self) { try await vault.read(fixture.url) }
        #expect(error?.originStatus == 401)
        #expect(try await vault.titles.summary(of: fixture.url) == nil)
        // A link for one user plays that user's copy, and contains none of the fields.
        let path = try vault.tokens.playbackPath(for: reference(fixture, "two"), expires: 4_000_000_000)
        let played = try #require(vault.tokens.reference(ofTarget: path, now: 0))
        #expect(played.fields.fields.isEmpty)
        #expect(try await read(vault, played, .whole) == two)
        await vault.close()
    }

    @Test("The plain URL names the copy stored without credentials, if there is one")
    func publicToo() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault, .closed(first: 0, last: 9)) == 0..<10)
        _ = try await read(vault, reference(fixture, "one"), .whole)
        #expect(try await vault.titles.summary(of: fixture.url)?.isComplete == false)
        await vault.close()
    }

    @Test("A user name in the URL becomes a sealed field, and names the same user as the header does")
    func userInfo() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let url = try MediaURL("http://one@127.0.0.1:\(fixture.origin.port)/film.mp4")
        _ = try await read(vault, MediaReference(url), .closed(first: 0, last: 99))
        let same = MediaReference(fixture.url, fields: HeaderFields(["authorization": "Basic b25lOg=="]))
        #expect(try await vault.titles.summary(of: same) != nil)
        #expect(try await vault.titles.summary(of: same)?.url == fixture.url.absoluteString)
        #expect(try await fixture.read(vault) == 0..<length)
        await vault.close()
    }

    @Test("A field that may be a credential keeps users apart; a field that cannot be one does not")
    func otherFields() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        func summary(_ fields: HeaderFields) async throws -> ResourceSummary? {
            try await vault.titles.summary(of: MediaReference(fixture.url, fields: fields))
        }
        _ = try await read(vault, MediaReference(fixture.url, fields: ["X-Token": "a"]), .whole)
        #expect(try await summary(["X-Token": "b"]) == nil)
        #expect(try await summary(["X-Token": "a", "User-Agent": "x"]) != nil)
        await vault.close()
    }

    @Test("New fields replace the old ones after they have worked")
    func replaced() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { [resource = fixture.resource] request in
            request.fields["User-Agent"]?.hasPrefix("version ") == true
                ? resource.answer(to: request) : ScriptedAnswer(401, fields: ["Content-Length": "0"])
        }
        let vault = try await fixture.open()
        func reference(_ version: String) -> MediaReference {
            MediaReference(fixture.url, fields: ["Authorization": "Bearer one", "User-Agent": "version \(version)"])
        }
        _ = try await read(vault, reference("1"), .closed(first: 0, last: 9))
        _ = try await read(vault, reference("2"), .closed(first: 100_000, last: 100_009))
        await vault.close()
        let again = try await fixture.open()
        #expect(try await fixture.read(again) == 0..<length)
        #expect(fixture.origin.exchanges.last?.request.fields["User-Agent"] == "version 2")
        await again.close()
    }

    @Test("Fields stay with the origin they were given for if a content id moves to another")
    func anotherOrigin() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let away = try ScriptedOrigin(fixture.resource)
        let vault = try await fixture.open()
        let fields: HeaderFields = ["User-Agent": "mine", "Referer": "http://secret.example/"]
        _ = try await read(
            vault, MediaReference(fixture.url, contentID: "film", fields: fields), .closed(first: 0, last: 9))
        #expect(try await fixture.bytes(vault, MediaReference(away.url("/b"), contentID: "film")) == length)
        #expect(fixture.origin.exchanges.allSatisfy { $0.request.fields["Referer"] != nil })
        #expect(away.exchanges.count == 1 && away.exchanges.allSatisfy { $0.request.fields["Referer"] == nil })
        await vault.close()
    }

    @Test("No field appears in plain text in the vault's folder or in its reports")
    func sealed() async throws {
        let fixture = try await fixture()
        let secret = "Bearer one"
        let vault = try await fixture.open()
        _ = try await read(vault, reference(fixture, "one"), .whole)
        let said = try await "\(String(describing: vault.titles.summary(of: fixture.url))) \(reference(fixture, "one"))"
        #expect(!said.contains(secret))
        await vault.close()
        let files = try #require(FileManager.default.enumerator(atPath: fixture.place.folder)).compactMap {
            $0 as? String
        }
        #expect(files.contains("index.sqlite"))
        for file in files {
            guard let data = FileManager.default.contents(atPath: fixture.place.folder + "/" + file) else { continue }
            #expect(data.range(of: Data(secret.utf8)) == nil, "\(file)")
        }
    }
}
