#if os(Linux)
import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultTestSupport

/// Ids in place of URLs, names, and many titles at once, by the built command.
@Suite(.timeLimit(.minutes(2)))
struct TitleIDCommandTests {
    private let served: ServedLab

    init() async throws { served = try await ServedLab() }

    private func url(_ path: String) -> String { served.origin.url(path).absoluteString }

    /// Fetches a title, and returns its id as `fetch` prints it.
    private func fetched(_ url: String, _ more: String...) async throws -> String {
        let result = try await served.lab.start(["fetch", "--json", url] + more).result
        let record = try JSONDecoder().decode([String: JSONTree].self, from: Data(result.output))
        return try #require(record["id"]?.text)
    }

    @Test(
        "What list prints first names the title in every command, with a service or without", arguments: [true, false])
    func everywhere(isServed: Bool) async throws {
        let id = try await fetched(served.url, "--content-id", "film: 1")
        let listed = try await served.lab.run("list").text.split(separator: "\n")
        #expect(listed.count == 2 && listed[1].hasPrefix(id + " "))
        let asked = served.origin.exchanges.count
        let service = isServed ? try await served.serve() : nil
        #expect(try await served.act(isServed, "pin", id).text == "\(id) \(served.url): pinned\n")
        #expect(try await served.act(isServed, "mode", "offline", id).status == 0)
        #expect(try await served.act(isServed, "mode", "default", id).status == 0)
        #expect(try await served.act(isServed, "unpin", id, "--json").text.contains(#""id":"\#(id)""#))
        #expect(try await served.act(isServed, "cat", id, "--range", "10-99").output == Array(served.media[10..<100]))
        let again = try await served.act(isServed, "fetch", id, "--json")
        #expect(again.status == 0 && again.text.contains(#""id":"\#(id)""#))
        #expect(try await served.act(isServed, "verify", "--repair", id).status == 0)
        #expect(try await served.act(isServed, "keys", "reseal", id).status == 0)
        #expect(try await served.act(isServed, "explain", id).text.contains(served.url))
        let info = try await served.lab.run("info", id, "--json")
        let facts = try JSONDecoder().decode([String: JSONTree].self, from: Data(info.output))
        #expect(facts["id"] == .text(id) && facts["contentID"] == .text("film: 1") && facts["url"] == .text(served.url))
        for name in ["added", "accessed"] { #expect(Timestamp(facts[name]?.text ?? "") != nil, "\(name)") }
        #expect(try await served.lab.run("info", id).text.contains("added"))
        #expect(try await served.lab.run("cat", id, "--offline").output == served.media)
        #expect(try await served.lab.run("verify", id).status == 0)
        let file = served.lab.folder.path + "/film"
        #expect(try await served.lab.run("export", id, file).status == 0)
        #expect(try Array(Data(contentsOf: URL(filePath: file))) == served.media)
        #expect(try await served.lab.run("keys", "audit", id).text.contains("reseal"))
        let link = try await served.lab.run("url", id).text.trimmingCharacters(in: .newlines)
        // The link stands for the title with its content id; the URL alone is another title.
        #expect(try await served.lab.run("info", link).text.contains("film: 1"))
        #expect(served.origin.exchanges[asked...].allSatisfy { $0.bodyBytesSent == 0 })
        let removed = try await served.act(isServed, "rm", id, id, "--json")
        let lines = removed.text.split(separator: "\n")
        #expect(removed.status == 6 && lines.count == 2 && lines[0].contains(#""error":null"#))
        #expect(lines[1].contains(#""code":"notHeld""#) && lines[1].contains(#""url":null"#))
        for command in ["pin", "fetch", "cat", "info", "verify", "url", "explain", "shred"] {
            #expect(try await served.lab.run(command, id).status == 6, "\(command)")
        }
        _ = service
    }

    @Test("An id and options of a URL do not go together, and what is no title is a usage error")
    func contradictions() async throws {
        let id = try await fetched(served.url)
        let fields = served.lab.folder.path + "/fields"
        try served.lab.folder.write("Authorization: Bearer x\r\n", to: "fields")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: fields)
        for (arguments, says) in [
            (["info", id, "--content-id", "x"], "--content-id goes with a URL"),
            (["pin", id, served.url, "--header-file", fields], "--header-file is for one origin"),
            (["info", "film"], "neither a URL"), (["verify", "--content-id", "x"], "--content-id goes with the URL"),
            (["keys", "reseal", "--content-id", "x"], "--content-id goes with the URL"),
            (["keys", "audit", "--content-id", "x"], "--content-id goes with the URL"),
            (["shred", "--all", id], "name titles"), (["shred", "--all"], "use --yes"), (["shred"], "no title given"),
            (["rm"], "no title given"),
            (["rm", "--all", id], "name titles"),
            (["pin", "--all", "--prefix", served.url], "name titles"), (["export", id], "give a title and the file"),
            (["export", "--all"], "need --to"), (["rm", "--prefix", "film"], "scheme"),
            (["pin", "--all", "--content-id", "x"], "titles that are named"),
            (["rm", "--prefix", served.url, "--header-file", fields], "titles that are named"),
            (["list", "--columns", "id,colour"], "id,held,size"), (["list", "--sort", "colour"], "played"),
            (["list", "--limit", "0"], "--limit must be"),
        ] {
            let result = try await served.lab.start(arguments).result
            #expect(result.status == 2, "\(arguments): \(result.errors)")
            #expect(result.errors.last?.contains(says) == true, "\(arguments): \(result.errors)")
        }
        // Bytes for this user must not become part of a title that was stored without one.
        let foreign = try await served.lab.run("cat", id, "--header-file", fields)
        #expect(foreign.status == 6 && foreign.error?.contains("another user") == true)
        #expect(try await served.lab.run("list").text.contains(id))
    }

    @Test("A new name is listed, searched and exported, with a service or without", arguments: [true, false])
    func renamed(isServed: Bool) async throws {
        let id = try await fetched(served.url)
        let service = isServed ? try await served.serve() : nil
        let named = try await served.act(isServed, "rename", id, "Der  Königs\u{1B}weg")
        #expect(named.text == "\(id): named Der Königs weg\n")
        let second = try await served.act(isServed, "rename", served.url, "Königsweg", "--json")
        #expect(second.text.contains(#""name":"Königsweg""#))
        #expect(try await served.lab.run("list", "--search", "konigs").text.contains("Königsweg"))
        // Fetched again, it keeps the name.
        #expect(try await served.act(isServed, "fetch", id).status == 0)
        #expect(try await served.lab.run("info", id).text.contains("Königsweg"))
        let folder = served.lab.folder.path + "/out"
        #expect(try await served.lab.run("export", "--to", folder, id).text == folder + "/Königsweg.mp4\n")
        #expect(try await served.act(isServed, "rename", id, "").text == "\(id): without a name\n")
        #expect(try await served.lab.run("list").text.hasSuffix("  film\n"))
        #expect(try await served.act(isServed, "rename", "aaaaaaaa", "x").status == 6)
        #expect(try await served.act(isServed, "rename", url("/never.mp4"), "x").status == 6)
        _ = service
    }

    @Test(
        "Titles are named by a list, or as their files are named, with a service or without", arguments: [true, false])
    func renamedSeveral(isServed: Bool) async throws {
        let id = try await fetched(served.url)
        let service = isServed ? try await served.serve() : nil
        let list = URL(filePath: served.lab.folder.path + "/names.txt")
        try "# names\n\(id)  The long way  \n\naaaaaaaa\tNobody\n".write(to: list, atomically: true, encoding: .utf8)
        let named = try await served.act(isServed, "rename", "--list", list.path)
        #expect(named.status == 6 && named.text == "\(id): named The long way\n")
        let all = try await served.act(isServed, "rename", "--from-file-names", "--all", "--yes")
        #expect(all.status == 0 && all.text == "\(id): named film\n")
        for words in [["--list", list.path, id], [id], ["--all", "--list", list.path], ["--from-file-names"]] {
            #expect(try await served.lab.start(["rename"] + words).result.status == 2, "\(words)")
        }
        _ = service
    }

    @Test("--prefix and --all choose titles, and nothing is changed without consent", arguments: [true, false])
    func many(isServed: Bool) async throws {
        let (one, two, other) = (url("/a/1.mp4"), url("/a/2.mp4"), url("/b/1.mp4"))
        for title in [one, two, other] { _ = try await fetched(title) }
        let service = isServed ? try await served.serve() : nil
        let refused = try await served.act(isServed, "remove", "--prefix", url("/a/"))
        #expect(refused.status == 2 && refused.error?.contains("remove would change 2 titles") == true)
        #expect(try await served.lab.status().resources == 3)
        let pinned = try await served.act(isServed, "pin", "--prefix", url("/a/"), "--yes")
        #expect(pinned.status == 0 && pinned.text.split(separator: "\n").count == 2)
        let listed = try await served.lab.run("list", "--filter", "pinned", "--columns", "url").text
        #expect(listed == "URL\n\(one)\n\(two)\n")
        #expect(
            try await served.act(isServed, "mode", "offline", "--all", "--yes").text.split(separator: "\n").count == 3)
        #expect(try await served.lab.run("verify", "--prefix", url("/b/"), "--json").text.contains(#""segments":1"#))
        let folder = served.lab.folder.path + "/out"
        let exported = try await served.lab.run("export", "--to", folder, "--prefix", url("/a/"))
        #expect(
            exported.status == 0 && Set(exported.text.split(separator: "\n")) == ["\(folder)/1.mp4", "\(folder)/2.mp4"])
        #expect(try await served.act(isServed, "rm", "--prefix", url("/c"), "--yes").status == 6)
        #expect(try await served.act(isServed, "rm", "--prefix", url("/a/"), "--yes").status == 0)
        #expect(try await served.lab.run("list", "--columns", "url").text == "URL\n\(other)\n")
        #expect(try await served.act(isServed, "rm", "--all", "--yes").status == 0)
        #expect(try await served.act(isServed, "rm", "--all", "--yes").status == 0)
        #expect(try await served.lab.run("list").text.isEmpty)
        _ = service
    }

    @Test("export --to creates its folder, and those above it only if that is asked for")
    func foldersAbove() async throws {
        try await served.lab.run("fetch", url("/a.mp4"))
        let folder = served.lab.folder.path + "/stick/films"
        let refused = try await served.lab.run("export", "--to", folder, url("/a.mp4"))
        #expect(refused.status == 1 && refused.errors.last?.contains("--make-folders") == true)
        #expect(!FileManager.default.fileExists(atPath: served.lab.folder.path + "/stick"))
        #expect(try await served.lab.run("export", "--to", folder, "--make-folders", url("/a.mp4")).status == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
    }

    @Test("Of several titles, export writes those it can under names of their own, and reports the others")
    func exported() async throws {
        let ids = [try await fetched(url("/a/film.mp4")), try await fetched(url("/b/film.mp4"))]
        try await served.lab.run("cat", url("/part.mp4"), "--range", "0-9")
        let folder = served.lab.folder.path + "/out"
        let result = try await served.lab.run("export", "--to", folder, ids[0], url("/part.mp4"), ids[1])
        #expect(result.status == 6 && result.text == "\(folder)/film.mp4\n\(folder)/film \(ids[1]).mp4\n")
        let again = try await served.lab.run("export", "--to", folder, ids[0])
        #expect(again.status == 2 && again.errors.last?.contains("film.mp4") == true)
        #expect(try await served.lab.run("export", "--to", folder, ids[0], "--force").status == 0)
        // An export may replace files of earlier exports, but not its own.
        let forced = try await served.lab.run("export", "--to", folder, ids[0], ids[1], "--force")
        #expect(forced.status == 0 && forced.text == "\(folder)/film.mp4\n\(folder)/film \(ids[1]).mp4\n")
    }

    @Test("list sorts by what it is told, and prints as many titles as wanted")
    func sorted() async throws {
        for (path, length) in [("/z%20film.mp4", 3000), ("/a.mp4", 9000), ("/m.mp4", 6000)] {
            let resource = ScriptedResource(length: Int64(length))
            served.origin.answer { resource.answer(to: $0) }
            _ = try await fetched(url(path))
        }
        func shown(_ arguments: String...) async throws -> [String] {
            try await served.lab.start(["list", "--columns", "name"] + arguments).result.text.split(separator: "\n")
                .dropFirst().map(String.init)
        }
        #expect(try await shown() == ["a", "m", "z film"])
        #expect(try await shown("--sort", "size") == ["a", "m", "z film"])
        #expect(try await shown("--sort", "size", "--limit", "1") == ["a"])
        #expect(try await shown("--filter", "partial").isEmpty)
        let json = try await served.lab.run("list", "--json", "--limit", "2")
        #expect(try JSONDecoder().decode([JSONTree].self, from: Data(json.output)).count == 2)
    }

    @Test("On a terminal, names are cut to its width, and many titles are changed after a question")
    func terminal() async throws {
        let id = try await fetched(url("/" + String(repeating: "long-", count: 60) + "name.mp4"))
        func atTerminal(_ command: String) throws -> RunningCommand {
            try served.lab.startShell(
                "TERM=xterm exec script -qec \"stty cols 60; '$mediavault' \(command)\" /dev/null")
        }
        let lines = try await atTerminal("list").result.text.split(whereSeparator: \.isNewline)
        #expect(
            lines.count == 2 && lines[1].hasPrefix(id) && lines[1].hasSuffix("…") && lines[1].count == 60, "\(lines)")
        #expect(try await served.lab.run("list").text.contains("long long long"))
        for (answer, status) in [("n\n", Int32(2)), ("y\n", 0)] {
            let run = try atTerminal("rm --all")
            #expect(await run.output.wait { $0.contains("remove 1 title, 1.0 MB? type y and press Enter") })
            try run.type(answer)
            #expect(await run.result.status == status)
            #expect(try await served.lab.status().resources == (status == 0 ? 0 : 1))
        }
    }
}
#endif
