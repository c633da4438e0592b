import Foundation
import Testing
import VaultModel

@testable import VaultCommand

@Suite("Limits of the system", .timeLimit(.minutes(5))) struct SystemRoomTests {
    @Test(
        "Under a limit that is too low, every command says so in a sentence and exits with 1",
        arguments: ["-n 4", "-n 8", "-n 16", "-n 63", "-v 300000", "-v 600000", "-d 60000", "-d 300000", "-s 64"],
        ["--version", "list", "fetch http://127.0.0.1:1/a.mp4", "serve"])
    func refused(_ limit: String, _ command: String) async throws {
        let lab = try CommandLab()
        let result = try await lab.startShell(#"ulimit \#(limit) && exec "$mediavault" \#(command)"#).result
        #expect(result.status == 1 && result.errors.count == 1, "\(result.errors)")
        #expect(result.error?.contains("ulimit \(limit.prefix(2)))") == true, "\(result.errors)")
    }

    // How many threads its user may have depends on what else that user runs: an end-to-end test has a user of its own.
    @Test(
        "With just what it needs, a command does its work",
        arguments: SystemLimit.allCases.filter { $0 != .threads })
    func enough(_ limit: SystemLimit) async throws {
        let needs = SystemNeeds(
            processors: ProcessInfo.processInfo.activeProcessorCount, stack: SystemLimit.stack.current)
        let least = needs.least(limit)
        let lab = try CommandLab()
        let option =
            switch limit {
            case .files: "-n \(least)"
            case .addresses: "-v \(least / 1024 + 1)"
            case .data: "-d \(least / 1024 + 1)"
            case .stack: "-s \(least / 1024)"
            case .threads: "-u \(least)"
            }
        let result = try await lab.startShell(#"ulimit \#(option) && "$mediavault" init && "$mediavault" list"#).result
        #expect(result.status == 0, "\(result.errors)")
    }
}
