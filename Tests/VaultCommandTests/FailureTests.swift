import ArgumentParser
import MediaVault
import Testing

@testable import VaultCommand

@Suite struct FailureTests {
    @Test("Advice on a read-only file system names the unit's setting only under systemd")
    func readOnly() {
        let error = VaultError(.storage, "its file system is read-only", hint: .writablePath)
        let unit = ProcessEnvironment(variables: ["INVOCATION_ID": "1f"], workingDirectory: "/")
        #expect(error.text(in: unit).hasSuffix("(in a systemd unit: ReadWritePaths=)"))
        let shell = ProcessEnvironment(variables: [:], workingDirectory: "/")
        #expect(error.text(in: shell) == "its file system is read-only")
    }

    @Test("Each error becomes one sentence and one exit code") func failures() {
        #expect(Failure(VaultError(.owned, "another owns it")) == .message("another owns it", .failed))
        #expect(Failure(UsageError("--range is one range")) == .message("--range is one range", .usage))
        #expect(Failure(OutputClosed()) == .silent(.failed))
        #expect(Failure(AlreadyReported(status: .origin)) == .silent(.origin))
        #expect(Failure(Interrupted(signal: 2)) == .message("interrupted; received data is kept", .signal(2)))
    }

    @Test(
        "An invalid command line is a usage error that points to the help",
        arguments: [
            (["fetch"], "no title given; give URLs or ids, or --list with a file; see mediavault fetch --help"),
            (["info"], "missing expected argument '<title>'; see mediavault info --help"),
            (["fetch", "--parallel", "17", "-"], "--parallel must be between 1 and 16; see mediavault fetch --help"),
            (["list", "--frob"], "unknown option '--frob'; see mediavault list --help"),
            (
                ["frobnicate"],
                "there is no command frobnicate; the commands are \(FailureTests.commands); see mediavault --help"
            ),
            (
                ["keys", "slot", "frob"],
                "there is no command keys slot frob; the commands of keys slot are list, add, remove; "
                    + "see mediavault keys slot --help"
            ),
            (["delete", "http://a/b"], "there is no command delete; did you mean remove? see mediavault --help"),
            (["feeds"], "there is no command feeds; did you mean sync? see mediavault --help"),
            (["user"], "there is no command user; did you mean viewers? see mediavault --help"),
            (["version"], "there is no command version: mediavault --version shows it; see mediavault --help"),
            (
                ["stop"],
                "there is no command stop: press Ctrl-C where the service runs, or stop its unit: systemctl stop "
                    + "mediavault; see mediavault --help"
            ),
            (["list", "--limit", "-1"], "--limit must be at least 1; see mediavault list --help"),
            (
                ["list", "--limit", "abc"],
                "the value 'abc' is invalid for '--limit <n>': list only this many titles, the first in that order; "
                    + "see mediavault list --help"
            ),
            (["fetc", "http://a/b"], "there is no command fetc; did you mean fetch? see mediavault --help"),
            (
                ["keys", "rotat"],
                "there is no command keys rotat; did you mean keys rotate? see mediavault keys --help"
            ),
            (["rotate"], "there is no command rotate; did you mean keys rotate? see mediavault --help"),
            (
                ["http://u:p@a/b?token=1"],
                "there is no command http://a/b?…; the commands are \(FailureTests.commands); see mediavault --help"
            ),
            (
                ["rm"],
                "no title given; give ids or URLs, or use --prefix, --collection or --all; see mediavault remove --help"
            ),
            (
                ["--key-file", "--json", "list"],
                "missing value for '--key-file <file>': key file of exactly 32 bytes (MEDIAVAULT_KEY_FILE); "
                    + "see mediavault list --help"
            ),
            (["--frob", "list"], "unknown option '--frob'; see mediavault --help"),
            (
                ["keys", "retire", "x"],
                "the value 'x' is invalid for '<n>': number of the generation, such as 1: see keys list; "
                    + "see mediavault keys retire --help"
            ),
            (
                ["fetch", "--limit-rate", "5X", "http://a/b"],
                "the value '5X' is invalid for '--limit-rate <rate>': maximum rate of the download: 500k, 5MB/s, "
                    + "1.5MiB/s or 40Mbit/s; see mediavault fetch --help"
            ),
            (
                ["config", "get", "max-sizes"],
                "the value 'max-sizes' is invalid for '<key>'; give one of max-size, max-age, min-free, "
                    + "evict-downloads, ignore-query, map-host, allow-host, ignore-etag, immutable, proxy, proxy-for, "
                    + "proxy-from-environment, ca-file, user-agent, address-family, header-for, cookie-file, "
                    + "client-certificate, parallel-downloads, downloads-per-host, download-hours, download-rate, "
                    + "least-rate, languages, notify-command, refresh-command, mode; "
                    + "see mediavault config get --help"
            ),
            (
                ["serve", "--log-format", "xml"],
                "the value 'xml' is invalid for '--log-format <format>'; give one of 'logfmt' and 'json'; see mediavault "
                    + "serve --help"
            ),
            (
                ["serve", "--mode", "foo"],
                "the value 'foo' is invalid for '--mode <mode>'; give one of 'online', 'prefer-vault', 'offline', "
                    + "'no-store' or 'default'; see mediavault serve --help"
            ),
            (["rm", "--al"], "unknown option '--al'; did you mean '--all'? see mediavault remove --help"),
            (
                ["sync", "lst"],
                "there is no file 'lst', and no such command of sync; did you mean sync list? see "
                    + "mediavault sync once --help"
            ),
            (
                ["list", "--columns", "id,foo"],
                "there is no column 'foo'; --columns takes one or several of id,held,size,bytes,age,played,expires,type,"
                    + "duration,class,name,url,content-id; see mediavault list --help"
            ),
            (["config", "set"], "missing expected argument '<key>'; see mediavault config set --help"),
            (
                ["info", "http://a/b", "http://user:pw@c.example/d?token=1"],
                "unexpected argument 'http://c.example/d?…'; see mediavault info --help"
            ),
            (
                ["serve", "--offline", "--mode", "online"],
                "--offline and --mode online contradict each other; see mediavault serve --help"
            ),
        ])
    func usage(_ arguments: [String], _ message: String) async {
        #expect(await Self.failure(of: arguments) == .message(message, .usage))
    }

    /// All commands, as a message lists them.
    static var commands: String {
        MediaVaultCommand.configuration.subcommands.compactMap { $0.configuration.commandName }.joined(separator: ", ")
    }

    @Test(
        "Help for a command that does not exist is a usage error, which the parser does not notice",
        arguments: [
            (
                ["help", "nonsense"],
                "there is no command nonsense; the commands are \(FailureTests.commands); see mediavault --help"
            ),
            (
                ["help", "sync", "lits"],
                "there is no command sync lits; did you mean sync list? see mediavault sync --help"
            ),
            (["help", "lits"], "there is no command lits; did you mean list? see mediavault --help"),
            (
                ["help", "keys", "slot", "remov"],
                "there is no command keys slot remov; did you mean keys slot remove? see mediavault keys slot --help"
            ),
            (["help"], nil), (["help", "list"], nil), (["help", "ls"], nil), (["help", "keys", "slot", "rm"], nil),
            (["help", "--help"], nil), (["nonsense"], nil), (["list", "help"], nil),
        ] as [([String], String?)])
    func helpForNothing(_ arguments: [String], _ message: String?) {
        #expect(CommandLineError(arguments).sentenceOfHelp == message)
    }

    @Test("The version is an answer, not a failure") func answers() async {
        #expect(await Self.failure(of: ["--version"]) == .answer("mediavault \(Vault.version)"))
    }

    private static func failure(of arguments: [String]) async -> Failure? {
        do {
            _ = try await MediaVaultCommand.asyncParseAsRoot(GlobalOptions.moved(arguments, of: MediaVaultCommand.self))
            return nil
        } catch {
            return Failure(error, arguments: GlobalOptions.moved(arguments, of: MediaVaultCommand.self))
        }
    }
}
