import MediaVault
import Testing
import VaultTestSupport

/// The built executable, as far as it works without a vault.
@Suite struct CommandLineTests {
    private let lab: CommandLab

    init() throws { lab = try CommandLab(hasKeyFile: false) }

    @Test("--version and --help print to standard output") func answers() async throws {
        let version = try await lab.run("--version")
        #expect(version.status == 0 && version.text == "mediavault \(Vault.version)\n" && version.errors.isEmpty)
        let help = try await lab.run("--help")
        #expect(help.status == 0 && help.errors.isEmpty)
        for name in [
            "init", "fetch", "cat", "list", "info", "status", "ready", "serve", "url", "links", "token", "remove",
            "pin",
            "unpin",
            "prune",
            "config", "keys", "verify", "export",
        ] {
            #expect(help.text.contains("\n  \(name) ") || help.text.contains("\n  \(name), "))
            let own = try await lab.run(name, "--help")
            #expect(own.status == 0 && own.text.contains("USAGE: mediavault \(name)") && own.errors.isEmpty)
        }
    }

    @Test(
        "An invalid command line gives one sentence and exit code 2",
        arguments: [
            ["frob"], ["fetch"], ["list", "--frob"], ["info", "no-url"], ["info", "ftp://a.example/b"],
            ["cat", "http://"],
            ["cat", "http://a.example/b", "--range", "9-5"], ["cat", "http://a.example/b", "--range", "0-1,5-6"],
            ["url", "http://a.example/b", "--expires", "2y"], ["url", "http://a.example/b", "--listen", "nowhere"],
            ["serve", "--listen", "8300"], ["serve", "--listen", "127.0.0.1:65536"], ["serve", "--mode", "sometimes"],
            ["serve", "--tls-key", "k"], ["serve", "--tls-certificate", "c"],
            ["list", "--vault", ""], ["list", "--key-file", "k", "--passphrase-file", "p"],
            ["token", "create"], ["token", "create", "--scope", "root"], ["token", "revoke"],
            ["token", "revoke", "a", "--all"], ["links", "revoke"], ["url"], ["url", "--all", "http://a.example/b"],
            ["url", "http://a.example/b", "--m3u", "--json"], ["url", "http://a.example/b", "--expires", "never"],
            ["token", "create", "--scope", "read", "--expires", "2z"], ["ready", "--until", "2z"],
            ["ready", "--until", "2001-01-01"], ["ready", "--verified-within", "0"],
            ["import", "film.mp4"], ["import", "film.mp4", "--as", "no-url"],
        ])
    func usage(_ arguments: [String]) async throws {
        let result = try await lab.start(arguments).result
        #expect(result.status == 2)
        #expect(result.output.isEmpty)
        let error = try #require(result.error)
        #expect(error.hasPrefix("mediavault: ") && !error.hasSuffix("."))
    }

    @Test(
        "Without an unlock method and a terminal, the message names the options",
        arguments: ["list", "status", "url http://a.example/b", "serve"])
    func noUnlock(_ command: String) async throws {
        try #require(try await lab.run("init").status == 2)
        try #require(try await lab.run("init", "--key-file", lab.folder.path + "/key").status == 0)
        let result = try await lab.start(command.split(separator: " ").map(String.init)).result
        #expect(result.status == 2 && result.output.isEmpty)
        let error = try #require(result.error)
        #expect(error.contains("--key-file") && error.contains("--passphrase-file"))
    }

    @Test(
        "Without a vault, a command says so before it asks for a key, and following its advice helps",
        arguments: [
            "list", "status", "ready", "serve", "fetch http://a.example/b", "url http://a.example/b", "token list",
            "config get",
            "token create --scope read", "token revoke a", "links list", "url http://a.example/b --name a",
            "config set max-size 1G", "keys list", "keys slot list", "keys slot add", "keys rotate", "keys audit",
            "keys backup b", "keys destroy", "verify", "prune", "pin http://a.example/b", "info http://a.example/b",
            "explain http://a.example/b", "cat http://a.example/b", "export http://a.example/b f", "index rebuild",
        ])
    func noVault(_ command: String) async throws {
        let result = try await lab.start(command.split(separator: " ").map(String.init)).result
        #expect(result.status == 1 && result.output.isEmpty, "\(result.errors)")
        let error = try #require(result.error)
        #expect(error.contains("there is no vault at \(lab.vault)") && error.contains("mediavault init"))
    }

    @Test(
        "A group of commands without one of them is a usage error, with its help on standard error",
        arguments: [[], ["token"], ["keys"], ["keys", "slot"], ["links"], ["index"]])
    func missingCommand(_ group: [String]) async throws {
        let result = try await lab.start(group).result
        #expect(result.status == 2 && result.output.isEmpty)
        #expect(result.errors.contains { $0.hasPrefix("USAGE: " + (["mediavault"] + group).joined(separator: " ")) })
    }

    @Test("Messages do not repeat the secrets of a URL") func secrets() async throws {
        let result = try await lab.run("info", "http://a.example/b", "http://user:hunter2@a.example/b?token=hunter2")
        #expect(result.status == 2)
        #expect(result.errors.allSatisfy { !$0.contains("hunter2") })
    }

    @Test("A closed standard output is a failed write, and a reader that has gone causes no message")
    func closedOutput()
        async throws
    {
        let closed = try await lab.startShell("\"$mediavault\" --help >&-").result
        #expect(closed.status == 1)
        // The reader has gone before the command starts.
        let gone = try await lab.startShell("{ read _ ; \"$mediavault\" --help; echo $? >&2; } <<E | exec true\n\nE")
            .result
        #expect(gone.errors == ["0"] || gone.errors == ["1"])
    }
}
