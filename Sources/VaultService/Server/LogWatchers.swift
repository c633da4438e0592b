import Logging
import MediaVault

/// Logs once when bytes begin to pass through unstored, once when storing resumes, and each eviction.
struct StoreWatch: Sendable {
    let vault: Vault
    let logger: Logger

    func begin() -> Task<Void, Never> {
        // Subscribes here, not when the task first runs, so that no event is missed.
        let events = vault.storeEvents()
        return Task {
            for await event in events { tell(event) }
        }
    }

    private func tell(_ event: StoreEvent) {
        switch event {
        case .passingThrough(let reason, let message):
            logger.warning(
                "media is passed through without being stored",
                metadata: ["reason": "\(reason.rawValue)", "message": "\(message)"])
        case .storing(let passed):
            logger.notice("media is stored again", metadata: ["passedThrough": "\(passed)"])
        case .evicted(let titles, let segments, let bytes):
            logger.notice(
                "media was evicted", metadata: ["bytes": "\(bytes)", "segments": "\(segments)", "titles": "\(titles)"])
        }
    }
}

/// Logs once if keys could not be locked in memory, with a remedy.
struct MemoryWatch: Sendable {
    let vault: Vault
    let logger: Logger

    func begin() -> Task<Void, Never> {
        let warnings = vault.memoryWarnings()
        return Task {
            for await warning in warnings { logger.warning("\(warning)") }
        }
    }
}

/// Drops the HTTP server's messages about its own end when it is cancelled while it starts.
///
/// The error that ends the service states the reason.
struct ListenerLogHandler: LogHandler {
    private static let source = "HummingbirdCore"
    private static let shutdownMessages: Set = [
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
        guard event.source != Self.source || !Self.shutdownMessages.contains(event.message.description) else { return }
        rest.log(event: event)
    }
}
