import Foundation
import MediaVault
import OriginTestSupport
import Testing

/// Commands that act through the service that owns the vault. None of them has a key.
@Suite(.timeLimit(.minutes(2)))
struct ThroughServiceTests {
    private static let length: Int64 = 1_000_000

    private let lab: CommandLab
    private let film = ScriptedResource(seed: 21, length: length)
    private let origin: ScriptedOrigin
    private let url: String

    init() async throws {
        lab = try CommandLab()
        origin = try ScriptedOrigin(film)
        url = origin.url("/dir/film.mp4").absoluteString
        try await lab.run("init")
    }

    /// What a client has that must not need a key: neither keyring nor key file.
    private static let keyless = ["MEDIAVAULT_KEYRING": "/nowhere/keyring", "MEDIAVAULT_KEY_FILE": "/nowhere/key"]

    private func keyless(_ arguments: String...) async throws -> CommandResult {
        try await lab.start(arguments, setting: Self.keyless).result
    }

    /// Runs the command without a key where a service is there to do what it wants.
    private func act(_ isServed: Bool, _ arguments: String...) async throws -> CommandResult {
        try await lab.start(arguments, setting: isServed ? Self.keyless : [:]).result
    }

    private func serve() async throws -> RunningCommand {
        let service = try lab.start(["serve", "--listen", "127.0.0.1:0"])
        _ = try #require(await service.line { $0.contains("serving") })
        return service
    }

    /// Has the origin hold its answer back at a byte until the gate opens.
    private func hold(at byte: Int64, _ gate: Gate) {
        origin.answer { [film] request in
            var answer = film.answer(to: request)
            if request.method == "GET" { answer.insert(.hold(gate), at: byte) }
            return answer
        }
    }

    private var media: [UInt8] { film.media.bytes(0..<Self.length) }

    @Test("fetch, cat and status need no key, and say what they say without a service")
    func keys() async throws {
        let service = try await serve()
        let fetched = try await keyless("fetch", url, "--json")
        #expect(fetched.status == 0)
        #expect(fetched.errors.last == "mediavault: film.mp4: 100 %, 1.0 MB of 1.0 MB")
        #expect(
            fetched.text == """
                {"bytes":1000000,"complete":true,"error":null,"size":1000000,"type":"video/mp4","url":"\(url)"}

                """)
        let read = try await keyless("cat", url)
        #expect(read.status == 0 && read.output == media)
        let other = try await keyless("cat", origin.url("/other.mp4").absoluteString, "--range", "-500")
        #expect(other.status == 0 && other.output == media.suffix(500))
        let status = try await keyless("status", "--json")
        #expect(status.status == 0 && status.text.contains("\"pid\":\(service.processIdentifier)"))
        service.signal(SIGTERM)
        #expect(await service.result.status == 0)
        // The same without a service, which takes the key.
        let same = try await lab.run("fetch", url, "--json")
        #expect(same.text == fetched.text)
    }

    @Test("Exit codes are those of a command that owns the vault")
    func codes() async throws {
        let service = try await serve()
        origin.answer { [film] in
            $0.target.hasPrefix("/gone") ? ScriptedAnswer(404, fields: ["Content-Length": "0"]) : film.answer(to: $0)
        }
        let gone = origin.url("/gone?token=hunter2").absoluteString
        let mixed = try await keyless("fetch", gone, "no-url", url, "--json")
        #expect(mixed.status == 5)
        let lines = mixed.text.split(separator: "\n")
        #expect(lines.map { $0.contains(#""complete":true"#) } == [false, false, true])
        #expect(lines[0].contains(#""code":"refused""#) && lines[1].contains(#""code":"invalidURL""#))
        #expect(mixed.errors.allSatisfy { !$0.contains("hunter2") })
        #expect(try await keyless("fetch", "no-url").status == 2)
        #expect(try await keyless("cat", url, "--range", "5000000-").status == 2)
        #expect(try await keyless("cat", gone).status == 5)
        origin.stop()
        #expect(try await keyless("cat", origin.url("/new").absoluteString).status == 5)
        _ = service
    }

    @Test("Of a service that is offline what is missing is not held: exit code 6")
    func offline() async throws {
        let service = try lab.start(["serve", "--listen", "127.0.0.1:0", "--offline"])
        _ = try #require(await service.line { $0.contains("serving") })
        for command in ["fetch", "cat"] {
            let result = try await keyless(command, url)
            #expect(result.status == 6 && result.error != nil, "\(command)")
        }
        #expect(origin.exchanges.isEmpty)
    }

    @Test("SIGINT of fetch ends its download, keeps what came, and leaves the service in peace (C11)")
    func interrupted() async throws {
        let service = try await serve()
        let gate = Gate()
        hold(at: 400_000, gate)
        let run = try lab.start(["fetch", url])
        await origin.wait { $0.contains { $0.phase == .held } }
        run.signal(SIGINT)
        let result = await run.result
        #expect(result.status == 130)
        #expect(result.errors.last == "mediavault: interrupted; what was received is kept")
        await origin.wait { $0.last?.phase == .abandoned }
        #expect(try await lab.status().service?.pid == service.processIdentifier)
        origin.answer { [film] in film.answer(to: $0) }
        #expect(try await keyless("fetch", url).status == 0)
        #expect(try await keyless("cat", url).output == media)
    }

    @Test("Two fetches of one film make one transfer (C2, C7)")
    func shared() async throws {
        let service = try await serve()
        let gate = Gate()
        hold(at: 400_000, gate)
        let one = try lab.start(["fetch", url], setting: Self.keyless)
        await origin.wait { $0.contains { $0.phase == .held } }
        let other = try lab.start(["fetch", url], setting: Self.keyless)
        _ = try #require(await other.line { $0.contains("film.mp4") })
        gate.open()
        #expect(await one.result.status == 0)
        #expect(await other.result.status == 0)
        #expect(
            origin.exchanges.filter { $0.request.method == "GET" }.reduce(0) { $0 + $1.bodyBytesSent } == Self.length)
        _ = service
    }

    @Test(
        "A service that ends, properly or not, ends the fetch with a sentence and exit code 1",
        arguments: [SIGTERM, SIGKILL])
    func serviceEnds(by signal: Int32) async throws {
        let service = try await serve()
        let gate = Gate()
        hold(at: 400_000, gate)
        let run = try lab.start(["fetch", url], setting: Self.keyless)
        await origin.wait { $0.contains { $0.phase == .held } }
        service.signal(signal)
        let result = await run.result
        #expect(result.status == 1)
        #expect(result.errors.last?.contains("what was received is kept") == true)
        #expect(await service.result.status == (signal == SIGTERM ? 0 : 137))
        // What is left of the socket misleads nobody.
        origin.answer { [film] in film.answer(to: $0) }
        #expect(try await lab.run("fetch", url).status == 0)
        #expect(try await lab.run("cat", url, "--offline").output == media)
    }

    @Test("--detach leaves a download to the service, and needs one")
    func detached() async throws {
        let refused = try await lab.run("fetch", url, "--detach")
        #expect(refused.status == 2 && refused.error?.contains("serve") == true)
        let service = try await serve()
        let gate = Gate()
        hold(at: 400_000, gate)
        #expect(try await keyless("fetch", url, "--detach").status == 0)
        await origin.wait { $0.contains { $0.phase == .held } }
        gate.open()
        #expect(try await keyless("fetch", url).status == 0)
        #expect(
            origin.exchanges.filter { $0.request.method == "GET" }.reduce(0) { $0 + $1.bodyBytesSent } == Self.length)
        _ = service
    }

    // MARK: What stays and what goes

    @Test("remove, pin and unpin act through the service or without it, and say the same", arguments: [true, false])
    func titles(isServed: Bool) async throws {
        let other = origin.url("/never.mp4?token=hunter2").absoluteString
        try await lab.run("fetch", url)
        let service = isServed ? try await serve() : nil
        let pinned = try await act(isServed, "pin", url)
        #expect(pinned.status == 0 && pinned.text == "\(url): pinned\n")
        #expect(try await lab.info(url).class == "pinned")
        #expect(try await act(isServed, "unpin", url, "--json").text == #"{"error":null,"url":"\#(url)"}"# + "\n")
        #expect(try await lab.info(url).class == "download")
        let removed = try await act(isServed, "remove", other, "no-url", url, "--json")
        #expect(removed.status == 6)
        let lines = removed.text.split(separator: "\n")
        #expect(
            lines.count == 3 && lines[0].contains(#""code":"notHeld""#) && lines[1].contains(#""code":"invalidURL""#))
        #expect(lines[2].hasPrefix(#"{"bytes":10"#) && lines[2].contains(#""error":null"#))
        #expect(removed.errors.count == 2 && removed.errors.allSatisfy { !$0.contains("hunter2") })
        #expect(try await lab.run("info", url).status == 6)
        for command in ["remove", "pin", "unpin"] {
            #expect(try await act(isServed, command, url).status == 6, "\(command)")
        }
        _ = service
    }

    @Test("mode says what is asked for a title, through the service or without it", arguments: [true, false])
    func modes(isServed: Bool) async throws {
        let service = isServed ? try await serve() : nil
        let set = try await act(isServed, "mode", "offline", url)
        #expect(set.status == 0 && set.text == "\(url): mode offline\n")
        let fetched = try await act(isServed, "fetch", url)
        #expect(fetched.status == 6 && origin.exchanges.isEmpty)
        let unknown = try await act(isServed, "mode", "sometimes", url)
        #expect(unknown.status == 2)
        #expect(try await act(isServed, "mode", "default", url).status == 0)
        #expect(try await act(isServed, "fetch", url).status == 0)
        #expect(try await lab.run("info", url).text.contains("mode"))
        #expect(try await act(isServed, "config", "set", "mode", "no-store").status == 0)
        #expect(try await act(isServed, "config", "get", "mode").text == "no-store\n")
        #expect(try await act(isServed, "cat", url).output == media)
        let other = try await act(isServed, "fetch", origin.url("/other.mp4").absoluteString)
        #expect(other.status == 1 && other.errors.last?.contains("no-store") == true)
        #expect(try await act(isServed, "config", "unset", "mode").status == 0)
        #expect(try await act(isServed, "config", "get", "mode").text.isEmpty)
        _ = service
    }

    @Test("prune keeps to the limits it is given, and leaves what is pinned")
    func prune() async throws {
        let kept = origin.url("/kept.mp4").absoluteString
        try await lab.run("fetch", kept)
        try await lab.run("cat", url)
        let service = try await serve()
        #expect(try await keyless("pin", kept).status == 0)
        // A loader that was used a moment ago is in use no more.
        let pruned = try await keyless("prune", "--max-size", "1MiB", "--json")
        #expect(pruned.status == 0)
        #expect(pruned.text.contains(#""resources":1"#))
        #expect(try await lab.run("info", url).status == 6)
        #expect(try await lab.info(kept).bytes == Self.length)
        #expect(try await keyless("prune").status == 0)
        #expect(try await keyless("prune", "--max-size", "much").status == 2)
        _ = service
    }

    @Test("Settings are set and read through the service or without it, and last (C16, X9)", arguments: [true, false])
    func settings(isServed: Bool) async throws {
        let service = isServed ? try await serve() : nil
        #expect(try await act(isServed, "config", "set", "max-size", "300MiB").status == 0)
        #expect(try await act(isServed, "config", "set", "max-age", "90d").status == 0)
        #expect(try await act(isServed, "config", "get", "max-size").text == "314572800\n")
        #expect(try await act(isServed, "config", "get", "max-age").text == "90d\n")
        let json = try await act(isServed, "config", "get", "--json").text
        #expect(json.contains(#""maxSize":314572800"#) && json.contains(#""maxAge":7776000"#))
        service?.signal(SIGTERM)
        if let service { #expect(await service.result.status == 0) }
        #expect(try await lab.run("config", "get", "--json").text == json)
        #expect(try await lab.run("config", "unset", "max-age").status == 0)
        #expect(try await lab.run("config", "get", "max-age").text == "0\n")
        for words in [
            ["max-size"], ["max-size", "1", "2"], ["max-size", "-1"], ["colour", "red"], ["max-age", "90"],
        ] {
            #expect(try await lab.start(["config", "set"] + words).result.status == 2, "\(words)")
        }
    }

    @Test("verify --repair through the service fetches what is damaged anew, and nothing else")
    func repair() async throws {
        try await lab.run("fetch", url)
        try damageOneSegment()
        let service = try await serve()
        let found = try await keyless("verify", "--repair", "--json")
        #expect(found.status == 0 && found.text.contains(#""sound":true"#) && found.text.contains(#""block":1"#))
        #expect(try await keyless("cat", url).output == media)
        #expect(try await keyless("verify", "--repair", "--json").text.contains(#""block":0"#))
        _ = service
    }

    private func damageOneSegment() throws {
        let name = try #require(lab.folder.files().first { $0.hasPrefix("vault/segments/") })
        let file = try FileHandle(forUpdating: URL(filePath: lab.folder.path + "/" + name))
        defer { try? file.close() }
        try file.seek(toOffset: 100_000)
        let byte = try #require(try file.read(upToCount: 1)?.first)
        try file.seek(toOffset: 100_000)
        try file.write(contentsOf: Data([byte ^ 1]))
    }

    // MARK: An owner without a socket

    @Test("An owner without a socket is named, or waited for with --wait")
    func wait() async throws {
        let gate = Gate()
        hold(at: 400_000, gate)
        let owner = try lab.start(["fetch", url])
        await origin.wait { $0.contains { $0.phase == .held } }
        let refused = try await lab.run("fetch", url)
        #expect(refused.status == 1 && refused.error?.contains("\(owner.processIdentifier)") == true)
        let patient = try lab.start(["fetch", url, "--wait"])
        let line = try #require(await patient.line { $0.contains("waiting") })
        #expect(line.contains("\(owner.processIdentifier)"))
        gate.open()
        #expect(await owner.result.status == 0)
        #expect(await patient.result.status == 0)
        #expect(
            origin.exchanges.filter { $0.request.method == "GET" }.reduce(0) { $0 + $1.bodyBytesSent } == Self.length)
    }

    @Test("SIGINT ends a command that waits")
    func waitInterrupted() async throws {
        let gate = Gate()
        hold(at: 400_000, gate)
        let owner = try lab.start(["fetch", url])
        await origin.wait { $0.contains { $0.phase == .held } }
        let patient = try lab.start(["fetch", url, "--wait"])
        _ = try #require(await patient.line { $0.contains("waiting") })
        patient.signal(SIGINT)
        #expect(await patient.result.status == 130)
        gate.open()
        #expect(await owner.result.status == 0)
    }

    // MARK: token

    @Test("token prints what the API asks for, and needs the keyring only")
    func token() async throws {
        let token = try await lab.run("token").text
        #expect(token.hasSuffix("\n") && token.utf8.count == 44)
        try FileManager.default.removeItem(atPath: lab.vault)
        #expect(try await lab.run("token").text == token)
    }
}
