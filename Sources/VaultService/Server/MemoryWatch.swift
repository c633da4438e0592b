import Logging
import MediaVault

/// Tells the log once when keys could not be locked in memory, with what to do about it.
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
