import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultTestSupport

/// The built executable, a real vault, and an origin on the loopback address.
@Suite struct CommandEndToEndTests {
    private static let length: Int64 = 1_000_000
    private let lab: CommandLab
    private let resource = ScriptedResource(length: length)
    private let origin: ScriptedOrigin
    private var title: String { origin.url("/dir/film.mp4").absoluteString }

    init() async throws {
        lab = try CommandLab()
        origin = try ScriptedOrigin(resource)
        let made = try await lab.run("init")
        try #require(made.status == 0, "\(made.errors)")
    }

    private func media(_ range: Range<Int64> = 0..<length) -> [UInt8] { resource.media.bytes(range) }

    // MARK: init and status

    @Test("init creates vault, keyring and key file for their owner only, and changes no existing file")
    func initialize() async throws {
        let files = lab.folder.files()
        #expect(files.contains("key") && files.contains("keyring.json") && files.contains("vault/index.sqlite"))
        for name in files { #expect(try lab.folder.mode(of: name) & 0o077 == 0, "\(name)") }
        #expect(try lab.folder.mode(of: "vault") == 0o700)
        let before = try ["key", "keyring.json"].map { try Data(contentsOf: URL(filePath: lab.folder.path + "/" + $0)) }
        let again = try await lab.run("init")
        #expect(again.status == 0 && !again.text.contains("(created)"))
        #expect(
            try ["key", "keyring.json"].map { try Data(contentsOf: URL(filePath: lab.folder.path + "/" + $0)) }
                == before)
    }

    @Test("init warns of a key file on the vault's own disk") func restsWithVault() async throws {
        let status = try await lab.status()
        #expect(status.unlock == .init(method: "key-file", restsWithVault: true))
        #expect(status.service == nil && status.resources == 0 && status.bytesFetched == 0 && status.vault.count == 32)
        #expect(try await lab.run("init").errors.contains { $0.contains("on the same disk as the vault") })
    }

    @Test("A passphrase in a file opens a vault of its own") func passphraseFile() async throws {
        let other = try CommandLab(hasKeyFile: false)
        try other.folder.write("correct horse\n", to: "words")
        let words = ["MEDIAVAULT_PASSPHRASE_FILE": other.folder.path + "/words"]
        #expect(try await other.run("init", setting: words).status == 0)
        #expect(try await other.run("status", setting: words).status == 0)
        try other.folder.write("wrong horse\n", to: "words")
        #expect(try await other.run("status", setting: words).status == 3)
    }

    // MARK: fetch, list, info

    @Test("fetch stores a title, shows its progress, and requests nothing twice") func fetch() async throws {
        let result = try await lab.run("fetch", title, "--json")
        #expect(result.status == 0)
        #expect(result.errors.last == "mediavault: film.mp4: 100 %, 1.0 MB of 1.0 MB")
        #expect(result.errors.allSatisfy { !$0.contains("\u{1B}") })
        let id = try await lab.run("list", "--columns", "id").text.split(separator: "\n").last ?? ""
        #expect(
            result.text == """
                {"bytes":1000000,"complete":true,"error":null,"id":"\(id)","size":1000000,"type":"video/mp4",\
                "url":"\(title)"}

                """)
        #expect(
            try await lab.info(title)
                == InfoAnswer(
                    id: String(id), url: title, size: Self.length, held: [[0, Self.length]], bytes: Self.length,
                    type: "video/mp4",
                    etag: "\"v1\"",
                    class: "download", generation: 1))
        #expect(try await lab.status().bytesFetched == Self.length)
        let asked = origin.exchanges.count
        #expect(try await lab.run("fetch", title).status == 0)
        #expect(origin.exchanges[asked...].allSatisfy { $0.bodyBytesSent == 0 })
        #expect(try await lab.status().bytesFetched == Self.length)
    }

    @Test("fetch tries every URL, and the first failure sets the exit code") func severalURLs() async throws {
        let title = resource
        origin.answer {
            $0.target == "/gone" ? ScriptedAnswer(404, fields: ["Content-Length": "0"]) : title.answer(to: $0)
        }
        let gone = origin.url("/gone").absoluteString
        let result = try await lab.run("fetch", gone, "no-url", self.title, "--json")
        #expect(result.status == 5)
        #expect(try await lab.info(self.title).bytes == Self.length)
        let lines = result.text.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.map { $0.contains(#""complete":true"#) } == [false, false, true])
        #expect(lines[0].contains(#""code":"refused""#) && lines[1].contains(#""code":"invalidURL""#))
        #expect(try await lab.run("fetch", "no-url", gone).status == 2)
    }

    @Test("fetch resumes: it keeps the bytes of an earlier run and does not request them again")
    func resumes() async throws {
        let title = resource
        origin.answer { request in
            guard request.method == "GET", request.range == nil || request.range?.hasPrefix("bytes=0-") == true else {
                return request.method == "GET"
                    ? ScriptedAnswer(404, fields: ["Content-Length": "0"]) : title.answer(to: request)
            }
            var answer = title.answer(to: request)
            answer.cut(at: 400_000, by: .close)
            return answer
        }
        let broken = try await lab.run("fetch", self.title)
        #expect(broken.status == 5)
        #expect(broken.errors.last?.hasSuffix("; 600.0 kB of 1.0 MB are missing") == true)
        #expect(try await lab.info(self.title).held == [[0, 400_000]])
        try await expectTheRestIsFetched(held: 400_000)
    }

    @Test("SIGINT stops fetch cleanly, and the received bytes are kept") func interrupted() async throws {
        let (title, gate) = (resource, Gate())
        origin.answer { request in
            var answer = title.answer(to: request)
            if request.method == "GET" { answer.insert(.hold(gate), at: 400_000) }
            return answer
        }
        let run = try lab.start(["fetch", self.title])
        // What the origin has sent may still be on its way; this line tells that some of it has arrived.
        #expect(await run.line { $0.contains(" of 1.0 MB") } != nil)
        run.signal(SIGINT)
        let result = await run.result
        #expect(result.status == 130)
        #expect(result.errors.last == "mediavault: interrupted; received data is kept")
        // How many of the origin's bytes had arrived depends on the network.
        let held = try await lab.info(self.title).bytes
        #expect(held > 0 && held <= 400_000)
        try await expectTheRestIsFetched(held: held)
    }

    private func expectTheRestIsFetched(held: Int64) async throws {
        let title = resource
        origin.answer { title.answer(to: $0) }
        let asked = origin.exchanges.count
        #expect(try await lab.run("fetch", self.title).status == 0)
        #expect(origin.exchanges[asked...].reduce(0) { $0 + $1.bodyBytesSent } == Self.length - held)
        #expect(try await lab.run("cat", self.title, "--offline").output == media())
    }

    @Test(
        "fetch of a playlist that cannot be read ends with exit code 5, and says so without its query",
        arguments: ["application/vnd.apple.mpegurl", "application/dash+xml"])
    func playlist(_ type: String) async throws {
        var list = ScriptedResource(length: 500)
        list.contentType = type
        let answered = list
        origin.answer { answered.answer(to: $0) }
        let result = try await lab.run("fetch", origin.url("/list?token=hunter2").absoluteString)
        #expect(result.status == 5)
        #expect(result.errors.contains { $0.contains("is a playlist that cannot be used") })
        #expect(result.errors.allSatisfy { !$0.contains("hunter2") })
    }

    @Test("fetch of a page ends with exit code 1, unless any type is wanted")
    func page() async throws {
        var page = ScriptedResource(length: 500)
        page.contentType = "text/html"
        let answered = page
        origin.answer { answered.answer(to: $0) }
        let url = origin.url("/page").absoluteString
        let refused = try await lab.run("fetch", url)
        #expect(refused.status == 1 && refused.errors.contains { $0.contains("--any-type") })
        #expect(try await lab.run("fetch", "--any-type", url).status == 0)
    }

    @Test("list prints held titles as a table and as JSON") func list() async throws {
        #expect(try await lab.run("list", "--json").text == "[]\n")
        try await lab.run("cat", title, "--range", "0-99999")
        let json = try await lab.run("list", "--json")
        #expect(json.status == 0 && json.errors.isEmpty)
        let all = try JSONDecoder().decode([[String: JSONTree]].self, from: Data(json.output))
        #expect(all.count == 1)
        #expect(
            all[0]["url"] == .text(title) && all[0]["size"] == .number(Self.length)
                && all[0]["complete"] == .truth(false))
        #expect(
            Set(all[0].keys) == [
                "id", "url", "contentID", "added", "accessed", "expires", "size", "bytes", "class", "type", "complete",
                "name", "duration", "title", "cover", "fallbackName", "tags", "collection",
            ])
        let table = try await lab.run("list")
        #expect(table.status == 0 && table.text.split(separator: "\n").last?.hasSuffix("  film") == true)
        try await lab.run("fetch", title, "--title", "Königsweg")
        for (text, count) in [("konigs", 1), ("KÖNIGS", 1), ("127.0.0.1", 1), ("nothing", 0)] {
            let found = try await lab.run("list", "--json", "--search", text)
            #expect(try JSONDecoder().decode([JSONTree].self, from: Data(found.output)).count == count, "\(text)")
        }
    }

    @Test("info of an unknown title ends with exit code 6, and asks no origin") func unknown() async throws {
        let result = try await lab.run("info", title, "--json")
        #expect(result.status == 6 && result.output.isEmpty && result.error != nil)
        #expect(origin.exchanges.isEmpty)
    }

    // MARK: cat

    @Test(
        "cat writes the whole title and a requested range, byte for byte",
        arguments: [
            (nil, 0..<length), ("0-0", 0..<1), ("100-65999", 100..<66_000), ("999999-", 999_999..<length),
            ("-1000", 999_000..<length),
            ("999990-2000000", 999_990..<length),
        ] as [(String?, Range<Int64>)])
    func cat(_ range: String?, _ bytes: Range<Int64>) async throws {
        let arguments = ["cat", title] + (range.map { ["--range", $0] } ?? [])
        let fetched = try await lab.start(arguments).result
        #expect(fetched.status == 0 && fetched.errors.isEmpty && fetched.output == media(bytes))
        #expect(origin.exchanges.reduce(0) { $0 + $1.bodyBytesSent } >= Int64(bytes.count))
        origin.stop()
        let held = try await lab.start(arguments + ["--offline"]).result
        #expect(held.status == 0 && held.output == media(bytes))
    }

    @Test("cat writes only the requested range if the origin does not support ranges")
    func catWithoutRanges() async throws {
        var plain = resource
        plain.supportsRanges = false
        let answered = plain
        origin.answer { answered.answer(to: $0) }
        let result = try await lab.run("cat", title, "--range", "1000-1999")
        #expect(result.status == 0 && result.output == media(1000..<2000))
    }

    @Test("cat ends quietly if its reader goes away") func catToNobody() async throws {
        let run = try lab.startShell("{ \"$mediavault\" cat \(title); echo \"exit $?\" >&2; } | head -c 10 >/dev/null")
        #expect(await run.result.errors == ["exit 1"])
    }

    @Test("SIGINT ends a cat whose reader takes no bytes, and the received bytes are kept")
    func catInterrupted() async throws {
        let run = try lab.startShell(
            """
            mkfifo "$HOME/pipe"
            { head -c 1 >/dev/null; echo read >&2; exec sleep 600; } <"$HOME/pipe" & reader=$!
            "$mediavault" cat \(title) >"$HOME/pipe" & cat=$!
            echo $cat >&2
            wait $cat; echo "exit $?" >&2; kill $reader
            """)
        let number = try #require(await run.line { Int32($0) != nil }.flatMap { Int32($0) })
        #expect(await run.line { $0 == "read" } != nil)
        kill(number, SIGINT)
        #expect(await run.line { $0.hasPrefix("exit") } == "exit 130")
        _ = await run.result
        #expect(try await lab.status().bytes > 0)
    }

    // MARK: serve and url

    @Test("serve prints its address; url, status and players find it; SIGTERM ends it with exit code 0") func serve()
        async throws
    {
        let run = try lab.start(["serve", "--listen", "127.0.0.1:0"])
        let line = try #require(await run.line { $0.contains("serving") })
        let status = try await lab.status()
        let service = try #require(status.service)
        let fields = "address=\(service.address) vault=\(lab.vault) version=\(Vault.version)"
        #expect(line.hasPrefix("time=") && line.hasSuffix(" level=notice message=serving \(fields)"))
        #expect(service.pid == run.processIdentifier)
        let address = try await lab.run("url", title).text.trimmingCharacters(in: .newlines)
        #expect(address.hasPrefix(service.address + "/media/") && address.hasSuffix("/dir/film.mp4"))
        // Another vault acts as the player.
        let player = try CommandLab()
        try await player.run("init")
        #expect(try await player.run("cat", address).output == media())
        // A second owner learns who the first one is.
        let owned = try await lab.run("serve", "--listen", "127.0.0.1:0")
        #expect(owned.status == 1 && owned.output.isEmpty)
        #expect(owned.error?.contains(" level=error message=\"") == true)
        #expect(owned.error?.contains("\(run.processIdentifier)") == true)
        run.signal(SIGTERM)
        let ended = await run.result
        #expect(ended.status == 0 && ended.errors.count == 3 && ended.errors[1] == line)
        #expect(ended.errors.last?.hasSuffix(" level=notice message=\"the service has ended\"") == true)
        #expect(ended.errors[0].hasSuffix(" level=notice message=\"the vault was unlocked\" method=key-file slot=1"))
        #expect(!lab.folder.files().contains { $0.hasSuffix("service.json") || $0.hasSuffix("control.sock") })
        #expect(try await lab.status().service == nil)
    }

    @Test("A killed service is not mistaken for a running one") func killed() async throws {
        let run = try lab.start(["serve", "--listen", "127.0.0.1:0"])
        _ = try #require(await run.line { $0.contains("serving") })
        run.signal(SIGKILL)
        #expect(await run.result.status == 137)
        #expect(lab.folder.files().contains("vault/service.json"))
        #expect(try await lab.status().service == nil)
        #expect(try await lab.run("url", title).text.hasPrefix("http://127.0.0.1:8300/media/"))
    }

    @Test("url needs only the keyring, and uses the given service address") func url() async throws {
        try FileManager.default.removeItem(atPath: lab.vault)
        #expect(try await lab.run("url", title).text.hasPrefix("http://127.0.0.1:8300/media/"))
        #expect(try await lab.run("url", title, "--listen", "[::1]:9").text.hasPrefix("http://[::1]:9/media/"))
        let named = try await lab.run("url", title, setting: ["MEDIAVAULT_LISTEN": "localhost:7"])
        #expect(named.text.hasPrefix("http://localhost:7/media/"))
        #expect(origin.exchanges.isEmpty)
    }

    @Test("serve listens beyond this machine only if an option accepts unencrypted traffic") func insecure()
        async throws
    {
        let result = try await lab.run("serve", "--listen", "0.0.0.0:0")
        #expect(result.status == 2 && result.error?.contains("--insecure") == true)
    }

    @Test("serve names the address if its port is in use, as one line of its log, and no library adds another")
    func takenPort() async throws {
        let arguments = ["serve", "--listen", "127.0.0.1:\(origin.port)", "--log-level", "error"]
        let result = try await lab.start(arguments).result
        #expect(result.status == 1)
        #expect(result.error?.contains(" level=error message=\"the service cannot listen on ") == true)
        #expect(result.error?.contains("127.0.0.1:\(origin.port)") == true)
        let json = try await lab.start(arguments, setting: ["MEDIAVAULT_LOG_FORMAT": "json"]).result
        let line = try JSONDecoder().decode([String: String].self, from: Data(try #require(json.error).utf8))
        #expect(json.status == 1 && line["level"] == "error")
        #expect(line["message"]?.contains("127.0.0.1:\(origin.port)") == true)
    }

    @Test("A failed unlock is one line of the log of serve, with its reason, and the exit code is that of a wrong key")
    func failedUnlock() async throws {
        let other = try CommandLab()
        try await other.run("init")
        let result = try await lab.start(
            ["serve", "--listen", "127.0.0.1:0"], setting: ["MEDIAVAULT_KEY_FILE": other.folder.path + "/key"]
        ).result
        #expect(result.status == 3)
        #expect(result.error?.contains(" level=error message=\"") == true)
        #expect(result.error?.hasSuffix(" reason=wrongKey") == true)
    }
}
