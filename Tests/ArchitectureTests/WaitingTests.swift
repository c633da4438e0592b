import Foundation
import Testing

/// Checks how tests wait. A loop that only yields keeps a core busy, and no time limit ends it, because a yield never
/// throws.
@Suite("Waiting in tests")
struct WaitingTests {
    private static let folder = Sources.folder.deletingLastPathComponent().appending(path: "Tests")

    @Test("No test waits in a loop that a time limit cannot end")
    func loops() throws {
        let all = try #require(FileManager.default.enumerator(at: Self.folder, includingPropertiesForKeys: nil))
        let found = all.compactMap { $0 as? URL }.filter { file in
            file.pathExtension == "swift" && file.lastPathComponent != "WaitingTests.swift"
        }
        #expect(found.count > 400)
        for file in found {
            let lines = Self.endless(in: try String(contentsOf: file, encoding: .utf8))
            #expect(lines.isEmpty, "\(file.lastPathComponent): \(lines)")
        }
    }

    @Test(
        "A loop that yields until something happens is found, and one that is counted or cancelled is not",
        arguments: [
            ("while !isOpen { await Task.yield() }", 1), ("while !isOpen {\n    look()\n    await Task.yield()\n}", 1),
            ("for _ in 0..<10 { await Task.yield() }", 0), ("while !Task.isCancelled {\n    await Task.yield()\n}", 0),
            ("while !isOpen { try await Task.sleep(for: .milliseconds(1)) }", 0),
        ])
    func recognition(text: String, count: Int) { #expect(Self.endless(in: text).count == count) }

    /// Returns the numbers of the lines that yield in a loop whose condition is not the task's cancellation.
    private static func endless(in text: String) -> [Int] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.indices.filter { index in
            guard lines[index].contains("Task.yield()") else { return false }
            let loop = lines[max(0, index - 3)...index].last { $0.contains("while ") || $0.contains("for ") }
            return loop.map { $0.contains("while ") && !$0.contains("isCancelled") } ?? false
        }
    }
}
