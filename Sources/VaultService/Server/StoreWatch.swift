import Logging
import MediaVault

/// Tells the log once when bytes begin to pass through unstored, once when that is over, and once of each eviction.
struct StoreWatch: Sendable {
    let vault: Vault
    let logger: Logger

    func begin() -> Task<Void, Never> {
        // Listening begins here, not when the task first runs: nothing is missed.
        let events = vault.storeEvents()
        return Task {
            for await event in events { tell(event) }
        }
    }

    private func tell(_ event: StoreEvent) {
        switch event {
        case .passingThrough(let reason, let message):
            logger.warning(
                "media is handed on without being stored",
                metadata: ["reason": "\(reason.rawValue)", "message": "\(message)"])
        case .storing(let passed):
            logger.notice("media is stored again", metadata: ["passedThrough": "\(passed)"])
        case .evicted(let titles, let segments, let bytes):
            logger.notice(
                "media was evicted", metadata: ["bytes": "\(bytes)", "segments": "\(segments)", "titles": "\(titles)"])
        }
    }
}
