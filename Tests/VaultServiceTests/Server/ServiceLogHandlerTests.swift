import Logging
import Testing

@testable import VaultService

@Suite("Events of libraries in the log")
struct ServiceLogHandlerTests {
    private func logger(_ recorder: LogRecorder, _ level: Logger.Level) -> Logger {
        var logger = recorder.logger
        logger.handler = ServiceLogHandler(logger.handler)
        logger.logLevel = level
        return logger
    }

    @Test("The service's own events are passed on unchanged; those of a library are not, below an error")
    func quiet() {
        let recorder = LogRecorder()
        var logger = logger(recorder, .info)
        logger[metadataKey: "request"] = "r-1"
        logger.info("Server started and listening on 127.0.0.1:1", source: "HummingbirdCore")
        logger.warning("a warning", source: "NIOPosix")
        let ending = ["Waiting on child channel: CancellationError()", "Server shutdown error: Already closed"]
        for text in ending { logger.error("\(text)", source: "HummingbirdCore") }
        #expect(recorder.lines.isEmpty)
        for source in ["VaultService", "VaultCommand"] { logger.error("\(ending[0])", source: source) }
        logger.info("own", source: "VaultService")
        #expect(recorder.lines.map(\.level) == [.error, .error, .info])
        #expect(recorder.lines.last?.text == #"own ["request": r-1]"#)
    }

    @Test("An error of a library that the service does not report itself is one line in the service's own words")
    func error() throws {
        let recorder = LogRecorder()
        logger(recorder, .notice).error("Server channel error", metadata: ["error": "x"], source: "HummingbirdCore")
        let line = try #require(recorder.lines.first)
        #expect(recorder.lines.count == 1 && line.level == .error)
        #expect(line.text.hasPrefix("the HTTP server reported an error"))
        for field in [#""detail": Server channel error"#, #""error": x"#, #""library": HummingbirdCore"#] {
            #expect(line.text.contains(field), "\(field)")
        }
    }

    @Test("With the level debug, every event of a library is logged, at debug")
    func debug() {
        let recorder = LogRecorder()
        let logger = logger(recorder, .debug)
        logger.info("Server started", source: "HummingbirdCore")
        logger.trace("not this one", source: "HummingbirdCore")
        #expect(recorder.lines.map(\.level) == [.debug])
        #expect(recorder.lines.allSatisfy { $0.text.contains("Server started") })
    }
}
