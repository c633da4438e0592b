#if os(Linux)
import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultTestSupport

/// What the built command says of titles that it does not find, and before it asks for a key.
@Suite("Advice", .timeLimit(.minutes(2)))
struct AdviceTests {
    private let served: ServedLab

    init() async throws { served = try await ServedLab() }

    @Test("A URL whose title is stored only with a content id is answered with its id")
    func contentID() async throws {
        try #require(try await served.lab.run("fetch", served.url, "--content-id", "film-1").status == 0)
        let listed = try await served.lab.run("list", "--columns", "id,content-id").text.split(separator: "\n")
        let id = try #require(listed.last?.prefix(8))
        #expect(listed.last?.hasSuffix("film-1") == true)
        for command in ["info", "pin", "rm", "explain"] {
            let result = try await served.lab.run(command, served.url)
            #expect(result.status == 6, "\(command)")
            #expect(result.error?.contains("name it by its id: \(id)") == true, "\(command): \(result.errors)")
        }
    }

    @Test("A title is listed by the name of its file, and found by its URL with blanks and umlauts")
    func shownURL() async throws {
        let url = served.origin.url("/Ein%20F%C3%BCchslein.mp4").absoluteString
        try #require(try await served.lab.run("cat", url, "--range", "0-9").status == 0)
        let shown = try #require(url.removingPercentEncoding)
        #expect(try await served.lab.run("list").text.contains("  Ein Füchslein\n"))
        #expect(try await served.lab.run("list", "--columns", "url").text.contains(url))
        #expect(try await served.lab.run("info", shown).text.contains(url))
    }

    @Test("Without titles, tokens or links, standard error says that there are none")
    func nothing() async throws {
        for (arguments, says) in [
            (["list"], "there are no titles"), (["list", "--search", "x"], "no title matches"),
            (["token", "list"], "there are no tokens"), (["links", "list"], "there are no named links"),
        ] {
            let result = try await served.lab.start(arguments).result
            #expect(result.status == 0 && result.output.isEmpty)
            #expect(result.error == "mediavault: \(says)")
        }
    }

    @Test("A link that nothing plays yet is printed, and standard error says so")
    func unplayable() async throws {
        let result = try await served.lab.run("url", served.url)
        #expect(result.status == 0 && result.text.contains("http://127.0.0.1:8300/"))
        #expect(result.error?.contains("this vault") == true, "\(result.errors)")
        let named = try await served.lab.run("url", served.url, "--listen", "127.0.0.1:9999")
        #expect(named.errors.isEmpty)
    }

    @Test("A backup that is missing, or would replace a file, is refused before any passphrase")
    func backups() async throws {
        let keyless = ["MEDIAVAULT_KEY_FILE": ""]
        let missing = try await served.lab.run("keys", "restore", served.lab.folder.path + "/none", setting: keyless)
        #expect(missing.status == 1 && missing.error?.contains("there is no backup at") == true, "\(missing.errors)")
        let taken = served.lab.folder.path + "/keyring.json"
        let existing = try await served.lab.run("keys", "backup", taken, setting: keyless)
        #expect(existing.status == 2 && existing.error?.contains("already exists") == true, "\(existing.errors)")
    }

    @Test("All tokens and all links are revoked at once only if that is agreed to")
    func revocation() async throws {
        try await served.lab.run("token", "create", "--scope", "read", "--name", "dash")
        let refused = try await served.lab.run("token", "revoke", "--all")
        #expect(refused.status == 2 && refused.error?.contains("revoke would change 1 token; use --yes") == true)
        #expect(try await served.lab.run("token", "list").text.contains("dash"))
        #expect(try await served.lab.run("token", "revoke", "--all", "--yes").error == "mediavault: 1 token revoked")
        #expect(try await served.lab.run("links", "revoke", "--all").error == "mediavault: 0 named links revoked")
    }

    @Test("A generation that was destroyed before is not destroyed again")
    func retired() async throws {
        try await served.lab.run("keys", "rotate")
        #expect(
            try await served.lab.run("keys", "retire", "1").errors.first?.contains("destroyed generation 1") == true)
        let again = try await served.lab.run("keys", "retire", "1")
        #expect(again.status == 0)
        #expect(again.errors.first == "mediavault: generation 1 was already destroyed")
    }

    @Test("While a service runs, a shell offers the ids of titles, and the audit needs no key; without one, nothing")
    func keyless() async throws {
        try #require(try await served.lab.run("fetch", served.url, "--title", "A film").status == 0)
        let words = ["---completion", "info", "--", "positional@0", "2", "0", "mediavault", "info", ""]
        let service = try await served.serve()
        let zsh = ["SAP_SHELL": "zsh"].merging(ServedLab.keyless) { $1 }
        let offered = try await served.lab.start(words, setting: zsh).result
        #expect(offered.status == 0 && offered.errors.isEmpty)
        #expect(
            offered.text.split(separator: "\n").contains { $0.count == 15 && $0.hasSuffix(":A film") }, "\(offered)")
        #expect(try await served.lab.run("keys", "audit", setting: ["MEDIAVAULT_KEY_FILE": ""]).status == 0)
        for command in [["serve"], ["index", "rebuild"], ["keys", "restore", "/nowhere/backup"]] {
            let refused = try await served.lab.start(command, setting: ["MEDIAVAULT_KEY_FILE": ""]).result
            #expect(refused.status == 1, "\(command)")
            #expect(refused.errors.last?.contains("process \(service.processIdentifier)") == true, "\(refused.errors)")
        }
        service.signal(SIGTERM)
        _ = await service.result
        let nothing = try await served.lab.start(words, setting: zsh).result
        #expect(nothing.status == 0 && nothing.errors.isEmpty && !nothing.text.contains("A film"))
    }

    @Test("Several titles are shredded at once, if that is agreed to")
    func shred() async throws {
        for name in ["/a/1.mp4", "/a/2.mp4", "/b/3.mp4"] {
            try #require(try await served.lab.run("fetch", served.origin.url(name).absoluteString).status == 0)
        }
        let prefix = served.origin.url("/a/").absoluteString
        #expect(try await served.lab.run("shred", "--prefix", prefix).error?.contains("use --yes") == true)
        let result = try await served.lab.run("shred", "--prefix", prefix, "--yes")
        #expect(result.status == 0 && result.text.split(separator: "\n").count == 2, "\(result.errors)")
        #expect(try await served.lab.run("list").text.split(separator: "\n").count == 2)
    }
}
#endif
