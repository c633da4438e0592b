import Foundation
import Hummingbird
import Logging
import MediaVault

// Subscriptions, and their runs.
extension APIResponder {
    /// Starts running subscriptions on their schedule, and logs each run.
    func startSubscriptions(_ logger: Logger) {
        vault.vault.subscriptions.start { subscription, error in
            // A subscription's name and URL are as private as those of titles.
            let metadata: Logger.Metadata = ["subscription": "\(subscription.shortID)"]
            if let error {
                logger.warning(
                    "a subscription failed", metadata: metadata.merging(["reason": "\(error.code)"]) { $1 })
            } else {
                logger.info("a subscription ran", metadata: metadata)
            }
        }
    }
}
