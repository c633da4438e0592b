import MediaVault
import Subprocess
import VaultModel

#if canImport(System)
import System
#else
import SystemPackage
#endif

/// Runs the operator's programs without a shell. They inherit nothing from this process.
///
/// A program gets its input, two environment variables and three descriptors. It has its own session, so that it can be
/// killed together with the processes that it started. Locked memory and the keys in it do not survive the system call
/// that replaces the process image.
struct ProgramRunner: Sendable {
    /// How long a program may run before it is killed.
    var limit = Self.usualLimit

    /// The usual time limit of a program.
    static let usualLimit: Duration = .seconds(30)
    /// The maximum number of bytes in a program's output.
    static let maxOutput = 64 << 10

    /// The complete environment of a program.
    private static let environment: Environment = .custom([
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
    ])

    /// Runs a program, and returns its standard output. Its standard error is discarded.
    ///
    /// - Parameter input: the program's standard input.
    /// - Throws: ``ProgramFailure`` if the program did not succeed, or `CancellationError` if the task was cancelled,
    ///   after killing the program.
    func run(_ program: ProgramInvocation, input: [UInt8]) async throws -> [UInt8] {
        let (path, limit) = (program.path, limit)
        let file = try await BlockingPool.shared.run { try ProgramFile.trusted(at: path) }
        return try await withThrowingTaskGroup(of: [UInt8].self) { group in
            group.addTask { try await Self.output(of: file, program, input: input) }
            group.addTask {
                try await Task.sleep(for: limit)
                throw ProgramFailure(reason: "it ran for more than \(limit.components.seconds) seconds")
            }
            defer { group.cancelAll() }
            return try await group.next() ?? []
        }
    }

    private static func output(
        of file: String, _ program: ProgramInvocation, input: [UInt8]
    ) async throws -> [UInt8] {
        var options = PlatformOptions()
        options.createSession = true
        options.teardownSequence = [
            .send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: .zero)
        ]
        do {
            let ended = try await Subprocess.run(
                .path(FilePath(file)),
                arguments: Arguments(executablePathOverride: program.path, remainingValues: program.arguments),
                environment: environment, workingDirectory: "/", platformOptions: options, input: .inputWriter,
                output: .bytes(limit: maxOutput), error: .discarded
            ) { execution in
                // A program need not read its input, so a failed write is ignored.
                _ = try? await execution.standardInputWriter.write(input)
                try? await execution.standardInputWriter.finish()
            }
            try Task.checkCancellation()
            guard ended.terminationStatus.isSuccess else {
                throw ProgramFailure(reason: "it failed: \(ended.terminationStatus)")
            }
            return ended.standardOutput
        } catch let error as SubprocessError {
            try Task.checkCancellation()
            throw ProgramFailure(
                reason: error.code == .outputLimitExceeded
                    ? "it printed more than \(maxOutput >> 10) KiB" : "it cannot be run")
        }
    }
}

/// The error thrown if a program did not do its work. The reason is part of a sentence, and contains nothing from the
/// program's output.
struct ProgramFailure: Error, Hashable, Sendable {
    let reason: String
}
