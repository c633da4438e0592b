import Logging

/// Leaves out of a log what the HTTP server says of its own end when it is cancelled while it begins: why it was, the
/// error says that ends the service.
struct ListenerLogHandler: LogHandler {
    private static let source = "HummingbirdCore"
    private static let ofItsEnd: Set = [
        "Waiting on child channel: CancellationError()", "Server shutdown error: Already closed",
    ]

    private var rest: any LogHandler

    init(_ rest: any LogHandler) { self.rest = rest }

    var metadata: Logger.Metadata {
        get { rest.metadata }
        set { rest.metadata = newValue }
    }

    var metadataProvider: Logger.MetadataProvider? {
        get { rest.metadataProvider }
        set { rest.metadataProvider = newValue }
    }

    var logLevel: Logger.Level {
        get { rest.logLevel }
        set { rest.logLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { rest[metadataKey: key] }
        set { rest[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        guard event.source != Self.source || !Self.ofItsEnd.contains(event.message.description) else { return }
        rest.log(event: event)
    }
}
