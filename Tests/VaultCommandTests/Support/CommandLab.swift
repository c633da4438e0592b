import Foundation
import VaultTestSupport

/// A home folder for one test, and the command run in it.
final class CommandLab: Sendable {
    let folder: TemporaryFolder
    /// The environment of every run.
    let variables: [String: String]

    /// - Parameter hasKeyFile: whether the environment names a key file, `key`.
    init(hasKeyFile: Bool = true) throws {
        folder = try TemporaryFolder()
        var variables = [
            "HOME": folder.path, "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
            "MEDIAVAULT_DIR": folder.path + "/vault", "MEDIAVAULT_KEYRING": folder.path + "/keyring.json",
        ]
        if hasKeyFile { variables["MEDIAVAULT_KEY_FILE"] = folder.path + "/key" }
        self.variables = variables
    }

    var vault: String { folder.path + "/vault" }

    /// Runs the command until it ends.
    @discardableResult
    func run(_ arguments: String..., setting more: [String: String] = [:]) async throws -> CommandResult {
        try await start(arguments, setting: more).result
    }

    /// Starts a run.
    func start(_ arguments: [String], setting more: [String: String] = [:]) throws -> RunningCommand {
        try RunningCommand(arguments, environment: variables.merging(more) { $1 })
    }

    /// Starts a shell command, in which `$mediavault` is the executable.
    func startShell(_ script: String) throws -> RunningCommand {
        try RunningCommand(
            ["-c", script], by: URL(filePath: "/bin/sh"),
            environment: variables.merging(["mediavault": RunningCommand.executable.path]) { $1 })
    }

    /// The output of `status --json`.
    func status() async throws -> StatusAnswer {
        try JSONDecoder().decode(StatusAnswer.self, from: await json("status", "--json"))
    }

    /// The output of `info --json`.
    func info(_ url: String) async throws -> InfoAnswer {
        try JSONDecoder().decode(InfoAnswer.self, from: await json("info", url, "--json"))
    }

    private func json(_ arguments: String...) async throws -> Data {
        let result = try await start(arguments).result
        guard result.status == 0 else { throw Failed(result: result) }
        return Data(result.output)
    }

    /// Runs a command that must succeed.
    struct Failed: Error {
        let result: CommandResult
    }
}
