import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultTestSupport

/// Content ids, header files and playback links, by the built command.
@Suite(.timeLimit(.minutes(2))) struct NamingEndToEndTests {
    private let lab: CommandLab
    private let resource = ScriptedResource(length: 300_000)
    private let origin: ScriptedOrigin
    private var title: String { origin.url("/dir/film.mp4").absoluteString }

    init() async throws {
        lab = try CommandLab()
        origin = try ScriptedOrigin { [resource] request in
            request.fields["Authorization"] == "Bearer secret"
                ? resource.answer(to: request) : ScriptedAnswer(401, fields: ["Content-Length": "0"])
        }
        try #require(try await lab.run("init").status == 0)
        try lab.folder.write("Authorization: Bearer secret\r\nX-Token: t\r\n", to: "fields")
        try setMode(0o600)
    }

    private var fields: String { lab.folder.path + "/fields" }

    private func setMode(_ mode: Int) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: fields)
    }

    @Test("A header file opens a title with restricted access, and no output names a field")
    func headerFile() async throws {
        #expect(try await lab.run("fetch", title).status == 5)
        let fetched = try await lab.run("fetch", title, "--header-file", fields)
        #expect(fetched.status == 0)
        let listed = try await lab.run("list", "--json")
        let info = try await lab.run("info", title, "--json")
        let played = try await lab.run("cat", title, "--offline")
        #expect(info.status == 0 && played.output == resource.media.bytes(0..<300_000))
        for text in [fetched.text + fetched.errors.joined(), listed.text, info.text] {
            #expect(!text.contains("secret") && !text.contains("X-Token"))
        }
        let address = try await lab.run("url", title, "--header-file", fields)
        #expect(address.status == 0 && !address.text.contains("secret"))
        // A playback link in place of a URL stands for the title that it plays.
        let own = address.text.trimmingCharacters(in: .newlines)
        #expect(try await lab.run("cat", own, "--offline", "--range", "0-9").output == resource.media.bytes(0..<10))
        #expect(try await lab.run("info", own).status == 0)
        #expect(try await lab.status().resources == 1)
    }

    @Test("Header fields may come from standard input")
    func standardInput() async throws {
        let command = try lab.startShell(
            "printf 'Authorization: Bearer secret\\n' | \"$mediavault\" cat '\(title)' --header-file - --range 0-99")
        #expect(await command.result.output == resource.media.bytes(0..<100))
    }

    @Test("A header file that others can read is refused, unless an option allows it")
    func looseFile() async throws {
        try setMode(0o644)
        let refused = try await lab.run("fetch", title, "--header-file", fields)
        #expect(refused.status == 3 && refused.error?.contains("chmod 600") == true)
        #expect(try await lab.run("fetch", title, "--header-file", fields, "--allow-loose-key-file").status == 0)
    }

    @Test("One header file is for one origin, and one content id for one title")
    func severalURLs() async throws {
        let other = origin.url("/other.mp4").absoluteString.replacing("127.0.0.1", with: "localhost")
        #expect(try await lab.run("fetch", title, other, "--header-file", fields).status == 2)
        #expect(try await lab.run("fetch", title, title + "?2", "--content-id", "x").status == 2)
        #expect(try await lab.run("info", title, "--content-id", "").status == 2)
        #expect(origin.exchanges.isEmpty)
    }

    @Test("A content id finds a title under a new URL")
    func contentID() async throws {
        origin.answer { [resource] in resource.answer(to: $0) }
        #expect(try await lab.run("fetch", title + "?token=1", "--content-id", "film").status == 0)
        let asked = origin.exchanges.count
        #expect(try await lab.run("cat", title + "?token=2", "--content-id", "film").output.count == 300_000)
        #expect(try await lab.run("info", title + "?token=3", "--content-id", "film").status == 0)
        #expect(try await lab.run("info", title + "?token=1").status == 6)
        #expect(origin.exchanges[asked...].allSatisfy { $0.bodyBytesSent == 0 })
    }

    @Test(
        "The command ignores the proxies of the environment",
        arguments: ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "https_proxy"])
    func proxy(variable: String) async throws {
        let proxy = try ScriptedOrigin { _ in ScriptedAnswer(502, fields: ["Content-Length": "0"]) }
        let setting = [variable: "http://127.0.0.1:\(proxy.port)"]
        #expect(try await lab.run("fetch", title, "--header-file", fields, setting: setting).status == 0)
        #expect(proxy.exchanges.isEmpty && !origin.exchanges.isEmpty)
    }
}
