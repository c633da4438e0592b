import MediaVault
import VaultModel

/// Decides which notices to send. It does not repeat a notice for a while, and limits the number that are sent in a
/// short time.
struct NoticePlan: Sendable {
    private struct Subject: Hashable {
        let kind: OperatorNotice.Kind
        let id: TitleID?
        /// The name of the subscription, which has no title; nil for any other notice.
        let feed: String?
    }

    /// When each notice was last sent, in seconds since 1970.
    private var sent: [Subject: Int64] = [:]
    /// When the most recent notices were sent.
    private var recent: [Int64] = []
    private var omitted = 0

    /// How long, in seconds, a notice of the same kind about the same title is not repeated.
    static let quiet: Int64 = 3600
    /// How long, in seconds, ``OperatorNotice/Kind/titleExpiring`` is not repeated. This is longer than the time for
    /// which a title counts as expiring.
    static let quietOfExpiry: Int64 = 2 * ExpiringTitle.notice
    /// How long, in seconds, ``OperatorNotice/Kind/feedFailing`` is not repeated.
    static let quietOfFeeds: Int64 = 7 * 86_400
    /// The maximum number of notices within ``burstTime``.
    static let burst = 10
    /// The period, in seconds, in which at most ``burst`` notices are sent.
    static let burstTime: Int64 = 600

    /// Returns the notice to send, with the number of notices omitted since the last one; nil if the notice is not to
    /// be sent.
    mutating func admit(_ notice: OperatorNotice) -> OperatorNotice? {
        let now = notice.time.seconds
        sent = sent.filter { Self.isRecent($0.value, within: Self.quiet(of: $0.key.kind), now) }
        recent.removeAll { !Self.isRecent($0, within: Self.burstTime, now) }
        let subject = Subject(
            kind: notice.kind, id: notice.id, feed: notice.kind == .feedFailing ? notice.name : nil)
        guard sent[subject] == nil else { return nil }
        guard recent.count < Self.burst else {
            omitted += 1
            return nil
        }
        sent[subject] = now
        recent.append(now)
        var admitted = notice
        (admitted.omitted, omitted) = (omitted, 0)
        return admitted
    }

    private static func quiet(of kind: OperatorNotice.Kind) -> Int64 {
        switch kind {
        case .titleExpiring: quietOfExpiry
        case .feedFailing: quietOfFeeds
        default: quiet
        }
    }

    /// Returns whether a time is less than `seconds` ago. A time in the future, which occurs after a clock was set
    /// back, does not count as recent.
    private static func isRecent(_ time: Int64, within seconds: Int64, _ now: Int64) -> Bool {
        (0..<seconds).contains(now - time)
    }
}
