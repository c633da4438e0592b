package import VaultModel

/// What a loader knows about its resource at one moment.
package struct LoaderStatus: Sendable {
    /// The length, type, validators and range support; nil if nothing is known yet.
    package let information: ContentInformation?
    package let freshness: Freshness?
    /// The mode in force.
    package let mode: VaultMode
    /// Whether every byte is held.
    package let isHeldWhole: Bool
    /// The number of first bytes that are present, whether they are sealed already or not.
    package let beginning: Int64
    package let isPinned: Bool
    package let hasReaders: Bool
    package let retryPolicy: RetryPolicy
}

extension ResourceLoader {
    package var status: LoaderStatus {
        look { state in
            LoaderStatus(
                information: state.information, freshness: state.freshness, mode: state.mode,
                isHeldWhole: state.isHeldWhole, beginning: state.present.run(at: 0)?.upperBound ?? 0,
                isPinned: state.isPinned, hasReaders: !state.readers.isEmpty, retryPolicy: state.retry.policy)
        }
    }
}
