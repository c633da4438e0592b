import Logging
import Testing

@testable import VaultService

@Suite("The log of a service that failed to start")
struct ListenerLogHandlerTests {
    @Test("Messages of the HTTP server about its own shutdown are dropped, all others are kept")
    func filtered() {
        let recorder = LogRecorder()
        var logger = recorder.logger
        logger.handler = ListenerLogHandler(logger.handler)
        logger[metadataKey: "request"] = "r-1"
        let ending = ["Waiting on child channel: CancellationError()", "Server shutdown error: Already closed"]
        for text in ending { logger.error("\(text)", source: "HummingbirdCore") }
        #expect(recorder.lines.isEmpty)
        logger.error("Server channel error", source: "HummingbirdCore")
        logger.error("\(ending[0])", source: "VaultService")
        #expect(
            recorder.lines.map(\.text) == [
                #"Server channel error ["request": r-1]"#, ending[0] + #" ["request": r-1]"#,
            ])
        logger.logLevel = .critical
        logger.error("quiet")
        #expect(recorder.lines.count == 2)
    }
}
