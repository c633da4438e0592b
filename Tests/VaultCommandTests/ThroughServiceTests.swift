import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultTestSupport

/// Commands that work through the service that owns the vault. None of them has a key.
@Suite(.timeLimit(.minutes(2)))
struct ThroughServiceTests {
    private let served: ServedLab

    init() async throws { served = try await ServedLab() }

    @Test("fetch, cat and status need no key, and print the same as without a service")
    func keys() async throws {
        let service = try await served.serve()
        let fetched = try await served.keyless("fetch", served.url, "--json")
        #expect(fetched.status == 0)
        #expect(fetched.errors.last == "mediavault: film.mp4: 100 %, 1.0 MB of 1.0 MB")
        let id = try await served.lab.run("list", "--columns", "id").text.split(separator: "\n").last ?? ""
        #expect(
            fetched.text == """
                {"bytes":1000000,"complete":true,"error":null,"id":"\(id)","size":1000000,"type":"video/mp4",\
                "url":"\(served.url)"}

                """)
        let read = try await served.keyless("cat", served.url)
        #expect(read.status == 0 && read.output == served.media)
        let other = try await served.keyless("cat", served.origin.url("/other.mp4").absoluteString, "--range", "-500")
        #expect(other.status == 0 && other.output == served.media.suffix(500))
        let status = try await served.keyless("status", "--json")
        #expect(status.status == 0 && status.text.contains("\"pid\":\(service.processIdentifier)"))
        service.signal(SIGTERM)
        #expect(await service.result.status == 0)
        // The same without a service, which needs the key.
        let same = try await served.lab.run("fetch", served.url, "--json")
        #expect(same.text == fetched.text)
    }

    @Test("list, info, verify and url need no key beside a service, and print the same as with one")
    func reading() async throws {
        let other = served.origin.url("/other.mp4").absoluteString
        try await served.lab.run("fetch", served.url, other)
        let service = try await served.serve()
        // Without the variable, a command that needs a key would have to prompt.
        let bare = ["MEDIAVAULT_KEY_FILE": "", "MEDIAVAULT_KEYRING": "/nowhere/keyring"]
        for words in [
            ["list"], ["list", "--json"], ["list", "--search", "other"], ["info", other], ["info", other, "--json"],
            ["verify"],
        ] {
            let keyless = try await served.lab.start(words, setting: bare).result
            let same = try await served.lab.start(words).result
            #expect(keyless.status == 0 && keyless.text == same.text && !same.text.isEmpty, "\(words)")
        }
        #expect(try await served.lab.start(["info", "http://127.0.0.1/none"], setting: bare).result.status == 6)
        let link = try await served.lab.start(["url", served.url, "--expires", "1h"], setting: bare).result
        let played = try await served.lab.startShell("curl -sSf '\(link.text.trimmingCharacters(in: .newlines))'")
            .result
        #expect(link.status == 0 && played.output == served.media, "\(played.errors)")
        _ = service
    }

    @Test("A key that the environment names and that is not there keeps no list from a service; an option's key does")
    func keyOfEnvironment() async throws {
        try await served.lab.run("fetch", served.url)
        let service = try await served.serve()
        for words in [["list"], ["info", served.url], ["ready", "--all"]] {
            let result = try await served.lab.start(words, setting: ServedLab.keyless).result
            #expect(result.status <= 1 && !result.text.isEmpty, "\(words): \(result.errors)")
        }
        #expect(try await served.keyless("list", "--key-file", "/nowhere/key").status != 0)
        #expect(try await served.keyless("keys", "lock").status == 0)
        #expect(try await served.lab.run("list").status == 0, "a locked service lists nothing, but the key does")
        _ = service
    }

    @Test("What keeps the service from its key, and its clean end, are lines of its log")
    func linesOfService() async throws {
        let missing = try await served.lab.run("serve", setting: ["MEDIAVAULT_DIR": "/nowhere/vault"])
        #expect(missing.status != 0 && missing.error?.hasPrefix("time=") == true, "\(missing.errors)")
        #expect(missing.error?.contains("level=error") == true && missing.error?.contains("reason=noVault") == true)
        let service = try await served.serve()
        service.signal(SIGTERM)
        let ended = await service.result
        #expect(ended.status == 0 && ended.errors.last?.contains("the service has ended") == true, "\(ended.errors)")
    }

    @Test("fetch with limits of its own is refused beside a service, which has its own")
    func limits() async throws {
        let service = try await served.serve()
        let refused = try await served.keyless("fetch", served.url, "--max-size", "1MiB")
        #expect(refused.status == 2 && refused.error?.contains("config set") == true, "\(refused.errors)")
        #expect(served.origin.exchanges.isEmpty)
        #expect(try await served.keyless("fetch", served.url).status == 0)
        _ = service
    }

    @Test("A verification by a command beside the service is the service's last one")
    func verified() async throws {
        let service = try await served.serve()
        let token = try await served.lab.run("token", "create", "--scope", "metrics").text.trimmingCharacters(
            in: .newlines)
        let address = try #require(try await served.lab.status().service?.address)
        func scrape() async throws -> String {
            try await served.lab.startShell("curl -sSf -H 'Authorization: Bearer \(token)' \(address)/metrics").result
                .text
        }
        #expect(try await !scrape().contains("mediavault_last_verify_sound"))
        #expect(try await served.lab.run("verify").status == 0)
        #expect(try await scrape().contains("\nmediavault_last_verify_sound 1\n"))
        _ = service
    }

    @Test("Exit codes are those of a command that owns the vault")
    func codes() async throws {
        let service = try await served.serve()
        served.origin.answer { [title = served.title] in
            $0.target.hasPrefix("/gone") ? ScriptedAnswer(404, fields: ["Content-Length": "0"]) : title.answer(to: $0)
        }
        let gone = served.origin.url("/gone?token=hunter2").absoluteString
        let mixed = try await served.keyless("fetch", gone, "no-url", served.url, "--json")
        #expect(mixed.status == 5)
        let lines = mixed.text.split(separator: "\n")
        #expect(lines.map { $0.contains(#""complete":true"#) } == [false, false, true])
        #expect(lines[0].contains(#""code":"refused""#) && lines[1].contains(#""code":"invalidURL""#))
        #expect(mixed.errors.allSatisfy { !$0.contains("hunter2") })
        #expect(try await served.keyless("fetch", "no-url").status == 2)
        #expect(try await served.keyless("cat", served.url, "--range", "5000000-").status == 2)
        #expect(try await served.keyless("cat", gone).status == 5)
        served.origin.stop()
        #expect(try await served.keyless("cat", served.origin.url("/new").absoluteString).status == 5)
        _ = service
    }

    @Test("An offline service reports missing bytes as not held: exit code 6")
    func offline() async throws {
        let service = try served.lab.start(["serve", "--listen", "127.0.0.1:0", "--offline"])
        _ = try #require(await service.line { $0.contains("serving") })
        for command in ["fetch", "cat"] {
            let result = try await served.keyless(command, served.url)
            #expect(result.status == 6 && result.error != nil, "\(command)")
        }
        #expect(served.origin.exchanges.isEmpty)
    }

    @Test("SIGINT of fetch ends its download, keeps the received bytes, and leaves the service running")
    func interrupted() async throws {
        let service = try await served.serve()
        let gate = Gate()
        served.hold(at: 400_000, gate)
        let run = try served.lab.start(["fetch", served.url])
        await served.origin.wait { $0.contains { $0.phase == .held } }
        run.signal(SIGINT)
        let result = await run.result
        #expect(result.status == 130)
        #expect(result.errors.last == "mediavault: interrupted; received data is kept")
        await served.origin.wait { $0.last?.phase == .abandoned }
        #expect(try await served.lab.status().service?.pid == service.processIdentifier)
        served.origin.answer { [title = served.title] in title.answer(to: $0) }
        #expect(try await served.keyless("fetch", served.url).status == 0)
        #expect(try await served.keyless("cat", served.url).output == served.media)
    }

    @Test("Two fetches of one title share one transfer")
    func shared() async throws {
        let service = try await served.serve()
        let gate = Gate()
        served.hold(at: 400_000, gate)
        let one = try served.lab.start(["fetch", served.url], setting: ServedLab.keyless)
        await served.origin.wait { $0.contains { $0.phase == .held } }
        let other = try served.lab.start(["fetch", served.url], setting: ServedLab.keyless)
        _ = try #require(await other.line { $0.contains("film.mp4") })
        gate.open()
        #expect(await one.result.status == 0)
        #expect(await other.result.status == 0)
        #expect(
            served.origin.exchanges.filter { $0.request.method == "GET" }.reduce(0) { $0 + $1.bodyBytesSent }
                == ServedLab.length)
        _ = service
    }

    @Test(
        "If the service stops or is killed, fetch ends with a sentence and exit code 1",
        arguments: [SIGTERM, SIGKILL])
    func serviceEnds(by signal: Int32) async throws {
        let service = try await served.serve()
        let gate = Gate()
        served.hold(at: 400_000, gate)
        let run = try served.lab.start(["fetch", served.url], setting: ServedLab.keyless)
        await served.origin.wait { $0.contains { $0.phase == .held } }
        service.signal(signal)
        let result = await run.result
        #expect(result.status == 1)
        #expect(result.errors.last?.contains("received data is kept") == true)
        #expect(await service.result.status == (signal == SIGTERM ? 0 : 137))
        // The leftover socket misleads no command.
        served.origin.answer { [title = served.title] in title.answer(to: $0) }
        #expect(try await served.lab.run("fetch", served.url).status == 0)
        #expect(try await served.lab.run("cat", served.url, "--offline").output == served.media)
    }

    @Test(
        "--detach queues all titles of a list or none, and names the line that cannot be used",
        arguments: [false, true])
    func wholeLists(isServed: Bool) async throws {
        let service = isServed ? try await served.serve() : nil
        let list = served.lab.folder.path + "/list.txt"
        try "\(served.url)\nftp://a.example/film\n\(served.url)2\n"
            .write(toFile: list, atomically: true, encoding: .utf8)
        let refused = try await served.act(isServed, "fetch", "--detach", "--list", list)
        #expect(refused.status == 2)
        #expect(refused.errors.contains { $0.contains("list.txt:2: not a URL") }, "\(refused.errors)")
        #expect(refused.errors.last?.contains("nothing was queued") == true, "\(refused.errors)")
        let queue = try await served.act(isServed, "downloads", "--json")
        #expect(String(decoding: queue.output, as: UTF8.self).contains(#""downloads":[]"#))
        try "\(served.url)\n\(served.url)2\n".write(toFile: list, atomically: true, encoding: .utf8)
        let queued = try await served.act(isServed, "fetch", "--detach", "--list", list)
        #expect(queued.status == 0 && queued.errors.last?.contains("queued 2 titles") == true)
        _ = service
    }

    @Test("--detach leaves a download to the service, or to the next one if none is running")
    func detached() async throws {
        let queued = try await served.lab.run("fetch", served.url, "--detach")
        #expect(queued.status == 0 && queued.errors.contains { $0.contains("mediavault serve") })
        #expect(served.origin.exchanges.isEmpty)
        let gate = Gate()
        served.hold(at: 400_000, gate)
        let service = try await served.serve()
        #expect(try await served.keyless("fetch", served.url, "--detach").status == 0)
        await served.origin.wait { $0.contains { $0.phase == .held } }
        gate.open()
        #expect(try await served.keyless("fetch", served.url).status == 0)
        #expect(
            served.origin.exchanges.filter { $0.request.method == "GET" }.reduce(0) { $0 + $1.bodyBytesSent }
                == ServedLab.length)
        _ = service
    }
}
