import Foundation

/// A home of a test's own, and the command run in it.
final class CommandLab: Sendable {
    let folder: TemporaryFolder
    /// Set for every run.
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

    /// Runs the command to its end.
    @discardableResult
    func run(_ arguments: String..., setting more: [String: String] = [:]) async throws -> CommandResult {
        try await start(arguments, setting: more).result
    }

    /// Begins a run.
    func start(_ arguments: [String], setting more: [String: String] = [:]) throws -> RunningCommand {
        try RunningCommand(arguments, environment: variables.merging(more) { $1 })
    }

    /// Begins a shell command, in which `$mediavault` is the executable.
    func startShell(_ script: String) throws -> RunningCommand {
        try RunningCommand(
            ["-c", script], by: URL(filePath: "/bin/sh"),
            environment: variables.merging(["mediavault": RunningCommand.executable.path]) { $1 })
    }

    /// What `status --json` says.
    func status() async throws -> StatusAnswer {
        try JSONDecoder().decode(StatusAnswer.self, from: await json("status", "--json"))
    }

    /// What `info --json` says.
    func info(_ url: String) async throws -> InfoAnswer {
        try JSONDecoder().decode(InfoAnswer.self, from: await json("info", url, "--json"))
    }

    private func json(_ arguments: String...) async throws -> Data {
        let result = try await start(arguments).result
        guard result.status == 0 else { throw Failed(result: result) }
        return Data(result.output)
    }

    /// A run that should have succeeded.
    struct Failed: Error {
        let result: CommandResult
    }
}
