import ArgumentParser
import MediaVault
import Testing

@testable import VaultCommand

@Suite struct FailureTests {
    @Test("What is thrown becomes one sentence and one exit code") func failures() {
        #expect(Failure(VaultError(.owned, "another owns it")) == .message("another owns it", .failed))
        #expect(Failure(UsageError("--range is one range")) == .message("--range is one range", .usage))
        #expect(Failure(OutputClosed()) == .silent(.failed))
        #expect(Failure(Reported(status: .origin)) == .silent(.origin))
        #expect(Failure(Interrupted(signal: 2)) == .message("interrupted; what was received is kept", .signal(2)))
    }

    @Test(
        "A command line that cannot be read is a usage error that names where help is",
        arguments: [
            (["fetch"], "missing expected argument '<url> ...'; see mediavault fetch --help"),
            (["list", "--frob"], "unknown option '--frob'; did you mean '--json'? see mediavault list --help"),
            (["frob"], "unexpected argument 'frob'; see mediavault --help"),
            (
                ["info", "http://a/b", "http://user:pw@c.example/d?token=1"],
                "unexpected argument 'http://c.example/d?…'; see mediavault info --help"
            ),
            (
                ["serve", "--offline", "--mode", "online"],
                "--offline and --mode online contradict each other; see mediavault serve --help"
            ),
        ])
    func usage(_ arguments: [String], _ message: String) {
        #expect(Self.failure(of: arguments) == .message(message, .usage))
    }

    @Test("The version is an answer, no failure") func answers() {
        #expect(Self.failure(of: ["--version"]) == .answer("mediavault \(Vault.version)"))
    }

    private static func failure(of arguments: [String]) -> Failure? {
        do {
            _ = try MediaVaultCommand.parseAsRoot(arguments)
            return nil
        } catch {
            return Failure(error, arguments: arguments)
        }
    }
}
