import Foundation
import Synchronization

/// The built executable, running as a process of its own.
final class RunningCommand: Sendable {
    private final class BundleMarker {}

    private let process = Process()
    private let ended: Task<CommandResult, Never>
    private let lines: LineLog

    /// The product, which is built beside the tests.
    static var executable: URL {
        #if os(macOS)
        Bundle(for: BundleMarker.self).bundleURL.deletingLastPathComponent().appending(path: "mediavault")
        #else
        Bundle.main.bundleURL.appending(path: "mediavault")
        #endif
    }

    init(_ arguments: [String], by program: URL = executable, environment: [String: String]) throws {
        let (output, errors, lines) = (Pipe(), Pipe(), LineLog())
        self.lines = lines
        process.executableURL = program
        process.arguments = arguments
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        let (exits, exit) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = { process in
            exit.yield(process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus)
            exit.finish()
        }
        try process.run()
        let (outputEnd, errorsEnd) = (output.fileHandleForReading, errors.fileHandleForReading)
        Thread.detachNewThread { lines.read(errorsEnd) }
        ended = Task {
            let bytes = await Self.all(of: outputEnd)
            await lines.waitForEnd()
            let status = await exits.first { _ in true } ?? -1
            return CommandResult(status: status, output: bytes, errors: lines.all)
        }
    }

    deinit { if process.isRunning { process.terminate() } }

    /// The result, once the process has ended.
    var result: CommandResult { get async { await ended.value } }

    /// Waits for a line of standard error; nil where the process ended without it.
    func line(where condition: @escaping @Sendable (String) -> Bool) async -> String? { await lines.first(where: condition) }

    /// Sends a signal.
    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    var processIdentifier: Int32 { process.processIdentifier }

    private static func all(of handle: FileHandle) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: Array(handle.readDataToEndOfFile())) }
        }
    }
}
