import Foundation
import Logging
import Synchronization
import Testing

@testable import VaultService

@Suite("Log as JSON")
struct JSONLogHandlerTests {
    private func lines(_ body: (Logger) -> Void) throws -> [[String: String]] {
        let written = LineBox()
        var logger = Logger(label: "test") { JSONLogHandler(label: $0) { written.add($0) } }
        logger[metadataKey: "request"] = "r-1"
        body(logger)
        return try written.lines.map { line in
            #expect(line.last == UInt8(ascii: "\n") && line.count { $0 == UInt8(ascii: "\n") } == 1)
            return try JSONDecoder().decode([String: String].self, from: Data(line))
        }
    }

    @Test("A line is one object with time, level, message and all metadata, whatever they contain")
    func line() throws {
        let lines = try lines { $0.notice("two\nlines \"quoted\"", metadata: ["status": "206", "request": "r-2"]) }
        let line = try #require(lines.first)
        #expect(line["message"] == "two\nlines \"quoted\"" && line["level"] == "notice" && line["logger"] == "test")
        #expect(line["status"] == "206" && line["request"] == "r-2")
        #expect(
            try Date(#require(line["time"]), strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
                <= .now)
    }

    @Test("Messages below the level are dropped, and metadata cannot override the line's own members")
    func level() throws {
        let lines = try lines {
            $0.debug("quiet")
            $0.info("said", metadata: ["level": "critical", "message": "forged"])
        }
        #expect(lines.count == 1 && lines[0]["level"] == "info" && lines[0]["message"] == "said")
    }

    private final class LineBox: Sendable {
        private let written = Mutex<[[UInt8]]>([])

        var lines: [[UInt8]] { written.withLock(\.self) }

        func add(_ line: [UInt8]) { written.withLock { $0.append(line) } }
    }
}
