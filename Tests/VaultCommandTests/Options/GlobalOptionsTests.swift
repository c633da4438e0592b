import ArgumentParser
import Testing

@testable import VaultCommand

@Suite("Options before the subcommand")
struct GlobalOptionsTests {
    @Test(
        "They move to just behind the subcommand, whatever their values are",
        arguments: [
            ("list", "list"), ("--vault v list", "list --vault v"), ("--vault=v list", "list --vault=v"),
            ("--vault v --key-file k list --json", "list --vault v --key-file k --json"),
            ("--json --wait --allow-loose-key-file list", "list --json --wait --allow-loose-key-file"),
            ("--vault list list", "list --vault list"), ("--vault= list", "list --vault="),
            // Nested subcommands, and options between their names.
            ("--vault v keys slot add --label a", "keys slot add --vault v --label a"),
            ("keys --vault v slot --keyring k list", "keys slot list --vault v --keyring k"),
            ("--vault v keys slot rm 2", "keys slot rm --vault v 2"),
            // A word behind a command whose default takes arguments is one of them.
            ("--vault v sync films", "sync once --vault v films"), ("--vault v sync add u", "sync add --vault v u"),
            ("--vault v sync - --name n", "sync once --vault v - --name n"),
            // A later option of the same name stays later, so that it takes precedence.
            ("--vault a list --vault b", "list --vault a --vault b"),
            // Values that begin with a dash, and `--`.
            ("--vault=-x list", "list --vault=-x"), ("--vault=--json list", "list --vault=--json"),
            ("--vault -x list", "-x list"), ("--vault --json list", "list --vault --json"),
            ("--vault v cat -- -x", "cat --vault v -- -x"), ("--vault v -- list", "-- list"),
            ("cat --range -5 u --vault v", "cat --range -5 u --vault v"),
            // Arguments of a subcommand that look like another one.
            ("fetch list --vault v", "fetch list --vault v"),
            // A command that lists unless told otherwise.
            ("downloads", "downloads list"), ("--vault v downloads", "downloads list --vault v"),
            ("--vault v downloads --json", "downloads list --vault v --json"),
            ("downloads --vault v pause x", "downloads pause --vault v x"), ("downloads pasue", "downloads pasue"),
            ("downloads --help", "downloads --help"),
            // No subcommand.
            ("", ""), ("--vault v", "--vault v"), ("--vault", "--vault"), ("--vault v keys", "keys --vault v"),
            ("--vault v --help", "--help"),
            ("--vault v --version", "--version"), ("--vault v help list", "help list"),
            ("--vault v frob x", "frob x"), ("--frob list", "--frob list"), ("--vaults v list", "--vaults v list"),
            ("---completion list -- --vault", "---completion list -- --vault"),
        ])
    func moved(_ given: String, _ expected: String) {
        let moved = GlobalOptions.moved(given.split(separator: " ").map(String.init), of: MediaVaultCommand.self)
        #expect(moved == expected.split(separator: " ").map(String.init))
    }

    @Test("They are the options that open the vault, and two that most commands take") func complete() throws {
        let help = VaultAccess.helpMessage(columns: 200)
        let words = help.split { $0.isWhitespace || "[]".contains($0) }.map(String.init)
        let names = Set(words.filter { $0.hasPrefix("--") }).subtracting(["--help"])
        try #require(names.contains("--vault"))
        #expect(GlobalOptions.valued.union(GlobalOptions.flags) == names.union(["--wait", "--json"]))
        for name in GlobalOptions.valued { #expect(help.contains("  \(name) <")) }
    }

    @Test("A command that needs no key accepts the options of the others", arguments: ["keys lock", "keys slot ls"])
    func unused(_ command: String) async throws {
        let words = ["--vault", "v", "--key-file", "k"] + command.split(separator: " ").map(String.init)
        _ = try await MediaVaultCommand.asyncParseAsRoot(GlobalOptions.moved(words, of: MediaVaultCommand.self))
        await #expect(throws: (any Error).self) { try await MediaVaultCommand.asyncParseAsRoot(words) }
    }

    @Test(
        "An alias is the command itself",
        arguments: [
            ("ls", "list"), ("rm u", "remove u"), ("keys ls", "keys list"), ("keys slot ls", "keys slot list"),
            ("keys slot rm 1", "keys slot remove 1"),
        ])
    func aliases(_ alias: String, _ command: String) async throws {
        var types: [String] = []
        for line in [alias, command] {
            let parsed = try await MediaVaultCommand.asyncParseAsRoot(line.split(separator: " ").map(String.init))
            types.append("\(type(of: parsed))")
        }
        #expect(types[0] == types[1])
    }
}
