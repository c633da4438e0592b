#if os(Linux)
import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultTestSupport

/// The built executable at a terminal, which `script` (of util-linux) emulates.
@Suite struct TerminalSessionTests {
    private let lab: CommandLab

    init() throws { lab = try CommandLab(hasKeyFile: false) }

    private func atTerminal(_ command: String) throws -> RunningCommand {
        try lab.startShell("TERM=xterm exec script -qec \"'$mediavault' \(command)\" /dev/null")
    }

    /// Makes a vault: without one, no passphrase is asked for.
    private func makeVault() async throws {
        try #require(try await lab.run("init", "--key-file", lab.folder.path + "/key").status == 0)
    }

    /// Answers prompts as they appear; returns the terminal's content and the exit code.
    private func answering(_ command: String, _ answers: [(question: String, answer: String)]) async throws
        -> CommandResult
    {
        let run = try atTerminal(command)
        for (question, answer) in answers {
            #expect(await run.output.wait { $0.contains(question) })
            try run.type(answer)
        }
        return await run.result
    }

    @Test("A new passphrase is asked for twice without echo, and opens the vault later")
    func passphrase() async throws {
        let differ = try await answering("init", [("New passphrase: ", "one\n"), ("Repeat passphrase: ", "two\n")])
        #expect(differ.status == 2 && differ.text.contains("the two passphrases differ"))
        #expect(!differ.text.contains("one") && lab.folder.files().isEmpty)
        let made = try await answering(
            "init", [("New passphrase: ", "örtchen\n"), ("Repeat passphrase: ", "örtchen\n")])
        #expect(made.status == 0 && !made.text.contains("örtchen"))
        #expect(try await answering("status --json", [("Passphrase: ", "örtchen\n")]).status == 0)
        #expect(try await answering("status --json", [("Passphrase: ", "ortchen\n")]).status == 3)
        // init only opens an existing vault.
        #expect(try await answering("init", [("Passphrase: ", "örtchen\n")]).status == 0)
    }

    @Test(
        "An empty passphrase is a usage error, and an interrupt ends the command",
        arguments: [("\n", 2), ("\u{04}", 2), ("\u{03}", 130)])
    func nothingTyped(_ answer: String, _ status: Int32) async throws {
        try await makeVault()
        #expect(try await answering("status", [("Passphrase: ", answer)]).status == status)
    }

    @Test("An interrupt at the question of keys destroy ends the command, and the vault stays")
    func interruptedQuestion() async throws {
        let keyed = try CommandLab()
        try await keyed.run("init")
        let run = try keyed.startShell("TERM=xterm exec script -qec \"'$mediavault' keys destroy\" /dev/null")
        #expect(await run.output.wait { $0.contains("type its id to continue") })
        try run.type("\u{03}")
        #expect(await run.result.status == 130)
        #expect(try await keyed.run("status").status == 0)
    }

    @Test("The terminal echoes again, however the prompt ended", arguments: ["\n", "\u{03}"])
    func echoComesBack(_ answer: String) async throws {
        try await makeVault()
        let run = try lab.startShell(
            "TERM=xterm exec script -qec \"trap : INT; '$mediavault' status; stty -a\" /dev/null")
        #expect(await run.output.wait { $0.contains("Passphrase: ") })
        try run.type(answer)
        let settings = await run.result.text.split(whereSeparator: \.isWhitespace)
        #expect(settings.contains("echo"))
    }

    @Test("fetch redraws one line and leaves it at the end; a dumb terminal gets plain lines") func bar()
        async throws
    {
        let keyed = try CommandLab()
        try await keyed.run("init")
        let origin = try ScriptedOrigin(ScriptedResource(length: 1_000_000))
        let fetch = "\"$mediavault\" fetch"
        let bar = try await keyed.startShell(
            "TERM=xterm exec script -qec 'stty cols 70; \(fetch) \(origin.url("/a.mp4").absoluteString)' /dev/null"
        ).result
        #expect(bar.status == 0)
        let drawn = bar.text.split(separator: "\r\u{1B}[K").flatMap { $0.split(separator: "\r\n") }
        #expect(drawn.last?.contains("100 %  1.0 MB of 1.0 MB") == true && drawn.last?.contains("[====") == true)
        #expect(drawn.allSatisfy { $0.count < 70 })
        let dumb = try await keyed.startShell(
            "TERM=dumb exec script -qec '\(fetch) \(origin.url("/b.mp4").absoluteString)' /dev/null"
        ).result
        #expect(dumb.status == 0 && !dumb.text.contains("\u{1B}"))
        #expect(dumb.text.hasSuffix("mediavault: b.mp4: 100 %, 1.0 MB of 1.0 MB\r\n"))
    }
}
#endif
