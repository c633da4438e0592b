import Foundation

/// The built executable, running as a separate process.
final class RunningCommand: Sendable {
    private final class BundleMarker {}

    private let process = Process()
    private let input = Pipe()
    private let ended: Task<CommandResult, Never>
    let output: StreamLog
    let errors: StreamLog

    /// The product, which is built next to the tests.
    static var executable: URL {
        #if os(macOS)
        Bundle(for: BundleMarker.self).bundleURL.deletingLastPathComponent().appending(path: "mediavault")
        #else
        Bundle.main.bundleURL.appending(path: "mediavault")
        #endif
    }

    init(_ arguments: [String], by program: URL = executable, environment: [String: String]) throws {
        let (outputPipe, errorsPipe) = (Pipe(), Pipe())
        process.executableURL = program
        process.arguments = arguments
        process.environment = environment
        process.standardInput = input
        process.standardOutput = outputPipe
        process.standardError = errorsPipe
        let (exits, exit) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = { process in
            exit.yield(process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus)
            exit.finish()
        }
        try process.run()
        let (output, errors) = (
            StreamLog(outputPipe.fileHandleForReading), StreamLog(errorsPipe.fileHandleForReading)
        )
        (self.output, self.errors) = (output, errors)
        ended = Task {
            await output.waitForEnd()
            await errors.waitForEnd()
            let status = await exits.first { _ in true } ?? -1
            return CommandResult(
                status: status, output: output.bytes, errors: errors.text.split(separator: "\n").map(String.init))
        }
    }

    deinit { if process.isRunning { process.terminate() } }

    /// The result, after the process has ended.
    var result: CommandResult { get async { await ended.value } }

    var processIdentifier: Int32 { process.processIdentifier }

    /// The first whole line of standard error that meets the condition; nil if the process ends without one.
    func line(where condition: @escaping @Sendable (Substring) -> Bool) async -> String? {
        let find = { @Sendable (text: String) in
            text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().first(where: condition)
        }
        _ = await errors.wait { find($0) != nil }
        return find(errors.text).map(String.init)
    }

    /// Writes to standard input.
    func type(_ text: String) throws { try input.fileHandleForWriting.write(contentsOf: Data(text.utf8)) }

    /// Sends a signal.
    func signal(_ number: Int32) { kill(process.processIdentifier, number) }
}
