import Logging
import MediaVault
import VaultModel

/// Logs what happens to a vault while a service runs, and notifies the operator.
struct VaultWatch: Sendable {
    let vault: Vault
    let logger: Logger
    let metrics: ServiceMetrics
    let isMeantToRead: Bool

    /// Runs `body`, and logs what happens to the vault meanwhile.
    func logging<Result>(_ body: () async throws -> Result) async throws -> Result {
        // Subscribes here, not when a task first runs, so that no event is missed.
        let (events, warnings) = (vault.storeEvents(), vault.memoryWarnings())
        let notifier = Notifier(vault, logger: logger)
        // A vault that is only read for no other reason is so because the disk was full.
        if !vault.isOwner, !isMeantToRead { notifier.note(.startedFull) }
        let notifying = Task { await notifier.run() }
        let storing = Task {
            for await event in events {
                logger.log(LoggedEvent(event))
                notifier.note(.store(event))
            }
        }
        let warning = Task { for await warning in warnings { logger.warning("\(warning)") } }
        let result: Swift.Result<Result, any Error>
        do {
            result = .success(try await listening(for: notifier, body))
        } catch {
            result = .failure(error)
        }
        // What was evicted in the last minute may not be reported yet.
        vault.endStoreEvents()
        await storing.value
        warning.cancel()
        notifying.cancel()
        await notifying.value
        return try result.get()
    }

    private func listening<Result>(
        for notifier: Notifier, _ body: () async throws -> Result
    ) async rethrows -> Result {
        let unlocked = vault.keys.unlocked
        logger.notice(
            "the vault was unlocked", metadata: ["method": "\(unlocked.method)", "slot": .number(unlocked.slot)])
        let listener = vault.keys.listen { [logger] receipt in logger.log(LoggedEvent(receipt)) }
        let failures = vault.downloads.listenForFailures { [logger, metrics] failed in
            logger.log(LoggedEvent(failed))
            if failed.snapshot.state == .failed { metrics.failed(failed.error.code) }
            notifier.note(.failed(failed))
        }
        let damage = vault.listenForDamage { notifier.note(.damaged($0)) }
        defer {
            vault.keys.stopListening(listener)
            vault.downloads.stopListeningForFailures(failures)
            vault.stopListeningForDamage(damage)
        }
        return try await body()
    }
}
