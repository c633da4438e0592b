import Testing

@testable import VaultCommand

@Suite("The command that continues a runbook is the one that was given")
struct GivenCommandTests {
    private func given(_ arguments: [String], script: String? = nil) -> GivenCommand {
        GivenCommand(
            "keys respond-to-leak", arguments: ["keys", "respond-to-leak"] + arguments,
            in: ProcessEnvironment(variables: script.map { ["MEDIAVAULT_SCRIPT": $0] } ?? [:], workingDirectory: "/"))
    }

    @Test(
        "It repeats the options, and leaves out the slots that only the rotation needs",
        arguments: [
            ([], "", "--resume"),
            (["--yes", "--limit-rate", "5M"], "--yes --limit-rate 5M", "--resume --yes --limit-rate 5M"),
            (["--resume", "--yes"], "--yes", "--resume --yes"),
            (["--keep-root", "--key-file=/k"], "--keep-root --key-file=/k", "--resume --keep-root --key-file=/k"),
            (
                ["--slot-key-file", "/a", "--drop-slots", "--slot-credential=b", "--vault", "/v"],
                "--slot-key-file /a --drop-slots --slot-credential=b --vault /v", "--resume --vault /v"
            ),
        ])
    func options(_ arguments: [String], _ fromStart: String, _ resumed: String) {
        let again = RespondToLeakCommand.again(given(arguments))
        #expect(again.fromStart == ["keys respond-to-leak", fromStart].filter { !$0.isEmpty }.joined(separator: " "))
        #expect(again.resumed == "keys respond-to-leak " + resumed)
    }

    @Test("A script that runs the command is named in its place, with its own options")
    func script() {
        let again = RespondToLeakCommand.again(given(["--yes"], script: "Scripts/respond-to-leak --report /r"))
        #expect(again.resumed == "Scripts/respond-to-leak --report /r --resume --yes")
    }

    @Test("Arguments are quoted for a shell")
    func quoting() {
        let text = given(["--vault", "/my vault", "--key-command", "pass 'a' $b", "--label", "", "é"]).text
        #expect(text == #"keys respond-to-leak --vault '/my vault' --key-command 'pass '\''a'\'' $b' --label '' é"#)
    }

    @Test(
        "Options before the words of the subcommand stay",
        arguments: [
            (["--vault", "keys", "keys", "renew", "--yes"], "keys renew --vault keys --yes"),
            (["keys", "--vault=keys", "renew", "--yes"], "keys renew --vault=keys --yes"),
            (["keys", "renew", "--yes"], "keys renew --yes"),
        ])
    func optionsBefore(_ arguments: [String], _ text: String) {
        let environment = ProcessEnvironment(variables: [:], workingDirectory: "/")
        #expect(GivenCommand("keys renew", arguments: arguments, in: environment).text == text)
    }
}
