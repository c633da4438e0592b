import Logging
import MediaVault

/// Tells the log once when bytes begin to pass through unstored, and once when that is over.
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
        }
    }
}
