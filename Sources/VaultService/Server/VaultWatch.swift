import Logging
import MediaVault
import VaultModel

/// Logs a vault's events while a service runs, and notifies the operator of them.
struct VaultWatch: Sendable {
    let vault: Vault
    let logger: Logger
    let metrics: ServiceMetrics
    let isMeantToRead: Bool
    private let notifier: Notifier

    init(vault: Vault, logger: Logger, metrics: ServiceMetrics, isMeantToRead: Bool) {
        (self.vault, self.logger, self.metrics, self.isMeantToRead) = (vault, logger, metrics, isMeantToRead)
        notifier = Notifier(vault, logger: logger)
    }

    /// Runs `body`, and logs the vault's events while it runs.
    func logging<Result>(_ body: () async throws -> Result) async throws -> Result {
        // The subscriptions begin here rather than when a task first runs, so that no event is missed.
        let (events, warnings) = (vault.space.events(), vault.checks.memoryWarnings())
        // Unless the operator chose to only read the vault, the service is a reader because the disk was full or
        // read-only.
        if !vault.isOwner, !isMeantToRead { notifier.note(.startedAsReader) }
        let notifying = Task { [notifier] in await notifier.run() }
        let storing = Task { [notifier, logger] in
            for await event in events {
                logger.log(LoggedEvent(event))
                notifier.note(.store(event))
            }
        }
        let warning = Task { for await warning in warnings { logger.warning("\(warning)") } }
        let result: Swift.Result<Result, any Error>
        do {
            result = .success(try await listening(body))
        } catch {
            result = .failure(error)
        }
        // Evictions in the last minute may not have been reported yet, so the remaining events are awaited.
        vault.space.endEvents()
        await storing.value
        warning.cancel()
        notifying.cancel()
        await notifying.value
        return try result.get()
    }

    /// Starts running subscriptions on their schedule, logs each run, and notes those that fail.
    func startSubscriptions() {
        vault.subscriptions.start { [logger, weak notifier] subscription, error in
            // A subscription's name and URL are as private as those of titles.
            let metadata: Logger.Metadata = ["subscription": "\(subscription.shortID)"]
            if let error {
                logger.warning(
                    "a subscription failed", metadata: metadata.merging(["reason": "\(error.code)"]) { $1 })
                notifier?.note(.unread(subscription))
            } else {
                logger.info("a subscription ran", metadata: metadata)
            }
        }
    }

    private func listening<Result>(
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        let unlocked = vault.keys.unlocked
        logger.notice(
            "the vault was unlocked", metadata: ["method": "\(unlocked.method)", "slot": .number(unlocked.slot)])
        let listener = vault.keys.listen { [logger] receipt in logger.log(LoggedEvent(receipt)) }
        let failures = vault.queue.listenForFailures { [logger, metrics, notifier] failed in
            logger.log(LoggedEvent(failed))
            if failed.snapshot.state == .failed { metrics.failed(failed.error.code) }
            notifier.note(.failed(failed))
        }
        let damage = vault.checks.listenForDamage { [notifier] in notifier.note(.damaged($0)) }
        defer {
            vault.keys.stopListening(listener)
            vault.queue.stopListeningForFailures(failures)
            vault.checks.stopListeningForDamage(damage)
        }
        return try await body()
    }
}
