import MediaVault
import VaultModel

/// A notice for the operator's program, which reads it from its standard input as one JSON object. A notice contains no
/// URL queries and no keys.
struct OperatorNotice: Codable, Hashable, Sendable {
    enum Kind: String, Codable, CaseIterable, Sendable {
        /// Bytes cannot be stored, because the disk is full, or the space that the limits allow is used up.
        case diskFull = "disk-full"
        /// A queued download has failed permanently.
        case downloadFailed = "download-failed"
        /// The runs of a subscription have all failed for a day or longer.
        case feedFailing = "feed-failing"
        /// Bytes of a title failed their check.
        case damage
        /// The age limit will soon remove a title.
        case titleExpiring = "title-expiring"
    }

    let kind: Kind
    let time: Timestamp
    /// The id of the title; null if the notice is not about a title.
    @OrNull var id: TitleID?
    /// The name of the title, or of the subscription; null if it has none.
    @OrNull var name: String?
    /// One sentence for a person.
    let message: String
    /// The number of notices that were omitted since the last one because there were too many.
    var omitted = 0

    init(_ kind: Kind, at time: Timestamp, id: TitleID? = nil, name: String? = nil, _ message: String) {
        (self.kind, self.time, self.message) = (kind, time, message)
        self.id = id
        self.name = name
    }
}

extension OperatorNotice {
    /// Creates a notice that bytes are not being stored; returns nil if the reason requires no action by the operator.
    init?(_ event: StoreEvent, at time: Timestamp) {
        guard case .passingThrough(let reason, let sentence) = event, [.diskFull, .capacity].contains(reason) else {
            return nil
        }
        self.init(.diskFull, at: time, sentence)
    }

    /// Creates a notice that a download failed, or that the disk is full if that is the reason; returns nil if the
    /// download failed for another reason and will be retried.
    init?(_ failed: FailedDownload, at time: Timestamp) {
        let (snapshot, error) = (failed.snapshot, failed.error)
        if error.code == .diskFull || error.code == .quotaExceeded {
            self.init(.diskFull, at: time, error.message)
        } else {
            guard snapshot.state == .failed else { return nil }
            self.init(.downloadFailed, at: time, id: snapshot.title, name: snapshot.name, error.message)
        }
    }

    /// Creates a notice that a subscription fails; returns nil if it has not failed for long.
    init?(_ subscription: MediaSubscription, at time: Timestamp) {
        guard let failure = subscription.failure, subscription.isFailing(at: time.seconds) else { return nil }
        self.init(
            .feedFailing, at: time, name: subscription.shownName,
            "the feed has failed for a day or longer, so that nothing new comes from it: \(failure.message)")
    }

    /// Returns a notice that bytes of a title are damaged.
    static func damage(id: TitleID?, name: String?, at time: Timestamp) -> OperatorNotice {
        OperatorNotice(
            .damage, at: time, id: id, name: name,
            "bytes of the title failed their check and are not played; a fetch or a repair brings them again")
    }

    /// Returns a notice that a title expires soon.
    static func expiring(at end: Timestamp, id: TitleID?, name: String?, now: Timestamp) -> OperatorNotice {
        OperatorNotice(
            .titleExpiring, at: now, id: id, name: name,
            "max-age removes the title after \(end); play, fetch or pin it to keep it")
    }
}
