import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultTestSupport

/// Removal, pins, offline mode and repair, through the service that owns the vault or without it.
@Suite(.timeLimit(.minutes(2)))
struct TitlesThroughServiceTests {
    private let served: ServedLab

    init() async throws { served = try await ServedLab() }

    @Test("remove, pin and unpin work through the service or without it, and print the same", arguments: [true, false])
    func titles(isServed: Bool) async throws {
        let other = served.origin.url("/never.mp4?token=hunter2").absoluteString
        try await served.lab.run("fetch", served.url)
        let service = isServed ? try await served.serve() : nil
        let pinned = try await served.act(isServed, "pin", served.url)
        #expect(pinned.status == 0 && pinned.text == "\(served.url): pinned\n")
        #expect(try await served.lab.info(served.url).class == "pinned")
        let id = try #require(try await served.lab.info(served.url).id)
        #expect(
            try await served.act(isServed, "unpin", served.url, "--json").text
                == #"{"error":null,"id":"\#(id)","url":"\#(served.url)"}"# + "\n")
        #expect(try await served.lab.info(served.url).class == "download")
        let removed = try await served.act(isServed, "remove", other, "no-url", served.url, "--json")
        #expect(removed.status == 6)
        let lines = removed.text.split(separator: "\n")
        #expect(
            lines.count == 3 && lines[0].contains(#""code":"notHeld""#) && lines[1].contains(#""code":"invalidURL""#))
        #expect(lines[2].hasPrefix(#"{"bytes":10"#) && lines[2].contains(#""error":null,"id":"\#(id)""#))
        #expect(lines.prefix(2).allSatisfy { $0.contains(#""id":null"#) })
        #expect(removed.errors.count == 2 && removed.errors.allSatisfy { !$0.contains("hunter2") })
        #expect(try await served.lab.run("info", served.url).status == 6)
        for command in ["remove", "pin", "unpin"] {
            #expect(try await served.act(isServed, command, served.url).status == 6, "\(command)")
        }
        _ = service
    }

    @Test("mode sets the offline mode of a title, through the service or without it", arguments: [true, false])
    func modes(isServed: Bool) async throws {
        let service = isServed ? try await served.serve() : nil
        let set = try await served.act(isServed, "mode", "offline", served.url)
        #expect(set.status == 0 && set.text == "\(served.url): mode offline\n")
        let fetched = try await served.act(isServed, "fetch", served.url)
        #expect(fetched.status == 6 && served.origin.exchanges.isEmpty)
        let unknown = try await served.act(isServed, "mode", "sometimes", served.url)
        #expect(unknown.status == 2)
        #expect(try await served.act(isServed, "mode", "default", served.url).status == 0)
        #expect(try await served.act(isServed, "fetch", served.url).status == 0)
        #expect(try await served.lab.run("info", served.url).text.contains("mode"))
        #expect(try await served.act(isServed, "config", "set", "mode", "no-store").status == 0)
        #expect(try await served.act(isServed, "config", "get", "mode").text == "no-store\n")
        #expect(try await served.act(isServed, "cat", served.url).output == served.media)
        let other = try await served.act(isServed, "fetch", served.origin.url("/other.mp4").absoluteString)
        #expect(other.status == 1 && other.errors.last?.contains("no-store") == true)
        #expect(try await served.act(isServed, "config", "unset", "mode").status == 0)
        #expect(try await served.act(isServed, "config", "get", "mode").text == "default\n")
        _ = service
    }

    @Test("prune keeps to the given limits, and leaves pinned titles")
    func prune() async throws {
        let kept = served.origin.url("/kept.mp4").absoluteString
        try await served.lab.run("fetch", kept)
        try await served.lab.run("cat", served.url)
        let service = try await served.serve()
        #expect(try await served.keyless("pin", kept).status == 0)
        let rehearsed = try await served.keyless("prune", "--max-size", "1MiB", "--dry-run", "--json")
        #expect(rehearsed.status == 0 && rehearsed.text.contains(#""resources":1"#))
        #expect(try await served.lab.run("info", served.url).status == 0)
        let unreachable = try await served.keyless("prune", "--max-size", "5B")
        #expect(unreachable.status == 2 && unreachable.errors.last?.contains("limited to 5 B") == true)
        // A loader that was in use a moment ago is no longer in use.
        let pruned = try await served.keyless("prune", "--max-size", "1MiB", "--json")
        #expect(pruned.status == 0)
        #expect(pruned.text.contains(#""resources":1"#))
        #expect(try await served.lab.run("info", served.url).status == 6)
        #expect(try await served.lab.info(kept).bytes == ServedLab.length)
        #expect(try await served.keyless("prune").status == 0)
        #expect(try await served.keyless("prune", "--max-size", "much").status == 2)
        _ = service
    }

    @Test("fetch reports once what it evicts, and evicts and reports nothing without need")
    func evicted() async throws {
        try await served.lab.run("cat", served.url)
        let other = served.origin.url("/other.mp4").absoluteString
        let easy = try await served.lab.run("fetch", other, "--max-size", "10MiB")
        #expect(easy.status == 0 && !easy.errors.contains { $0.contains("evicted") }, "\(easy.errors)")
        let third = served.origin.url("/third.mp4").absoluteString
        let tight = try await served.lab.run("fetch", third, "--max-size", "2500kB")
        #expect(tight.status == 0, "\(tight.errors)")
        let told = tight.errors.filter { $0.contains("evicted to free space") }
        #expect(told.count == 1 && told.allSatisfy { $0.contains("1.0 MB") }, "\(tight.errors)")
        #expect(try await served.lab.run("info", served.url).status == 6)
        #expect(try await served.lab.info(other).bytes == ServedLab.length)
    }

    @Test("Settings are set and read through the service or without it, and persist", arguments: [true, false])
    func settings(isServed: Bool) async throws {
        let service = isServed ? try await served.serve() : nil
        #expect(try await served.act(isServed, "config", "set", "max-size", "300MiB").status == 0)
        #expect(try await served.act(isServed, "config", "set", "max-age", "90d").status == 0)
        #expect(try await served.act(isServed, "config", "get", "max-size").text == "300MiB\n")
        #expect(try await served.act(isServed, "config", "get", "max-age").text == "90d\n")
        let json = try await served.act(isServed, "config", "get", "--json").text
        #expect(json.contains(#""maxSize":314572800"#) && json.contains(#""maxAge":7776000"#))
        service?.signal(SIGTERM)
        if let service { #expect(await service.result.status == 0) }
        #expect(try await served.lab.run("config", "get", "--json").text == json)
        #expect(try await served.lab.run("config", "unset", "max-age").status == 0)
        #expect(try await served.lab.run("config", "get", "max-age").text == "0\n")
        #expect(try await served.lab.run("config", "get", "min-free").text == "default\n")
        #expect(try await served.lab.run("config", "set", "min-free", "0").status == 0)
        #expect(try await served.lab.run("config", "get", "min-free").text == "0\n")
        #expect(try await served.lab.run("config", "set", "evict-downloads", "yes").status == 0)
        #expect(try await served.lab.run("config", "get", "evict-downloads").text == "yes\n")
        for words in [
            ["max-size"], ["max-size", "1", "2"], ["max-size", "-1"], ["colour", "red"], ["max-age", "90"],
            ["max-size", "5"], ["min-free", "5"], ["evict-downloads", "maybe"],
        ] {
            #expect(try await served.lab.start(["config", "set"] + words).result.status == 2, "\(words)")
        }
    }

    @Test("verify --repair through the service fetches only the damaged block again")
    func repair() async throws {
        try await served.lab.run("fetch", served.url)
        try damageOneSegment()
        let service = try await served.serve()
        let found = try await served.keyless("verify", "--repair", "--json")
        #expect(found.status == 0 && found.text.contains(#""sound":true"#) && found.text.contains(#""block":1"#))
        #expect(try await served.keyless("cat", served.url).output == served.media)
        #expect(try await served.keyless("verify", "--repair", "--json").text.contains(#""block":0"#))
        _ = service
    }

    private func damageOneSegment() throws {
        let name = try #require(served.lab.folder.files().first { $0.hasPrefix("vault/segments/") })
        let file = try FileHandle(forUpdating: URL(filePath: served.lab.folder.path + "/" + name))
        defer { try? file.close() }
        try file.seek(toOffset: 100_000)
        let byte = try #require(try file.read(upToCount: 1)?.first)
        try file.seek(toOffset: 100_000)
        try file.write(contentsOf: Data([byte ^ 1]))
    }
}
