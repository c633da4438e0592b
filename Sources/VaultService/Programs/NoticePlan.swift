import MediaVault
import VaultModel

/// Decides which notices to send: it does not repeat one for a while, and limits how many are sent at a time.
struct NoticePlan: Sendable {
    private struct Subject: Hashable {
        let kind: OperatorNotice.Kind
        let id: TitleID?
    }

    /// When each notice was last sent, in seconds since 1970.
    private var sent: [Subject: Int64] = [:]
    /// When the most recent notices were sent.
    private var recent: [Int64] = []
    private var omitted = 0

    /// How long a notice of one kind about one title is not repeated, in seconds.
    static let quiet: Int64 = 3600
    /// The same for ``OperatorNotice/Kind/titleExpiring``: longer than a title counts as expiring.
    static let quietOfExpiry: Int64 = 2 * ExpiringTitle.notice
    /// Maximum notices within ``burstTime``.
    static let burst = 10
    /// The seconds in which at most ``burst`` notices are sent.
    static let burstTime: Int64 = 600

    /// Returns the notice to send, with the number omitted since the last one; nil if it is not to be sent.
    mutating func admit(_ notice: OperatorNotice) -> OperatorNotice? {
        let now = notice.time.seconds
        sent = sent.filter { Self.isRecent($0.value, within: Self.quiet(of: $0.key.kind), now) }
        recent.removeAll { !Self.isRecent($0, within: Self.burstTime, now) }
        let subject = Subject(kind: notice.kind, id: notice.id)
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
        kind == .titleExpiring ? quietOfExpiry : quiet
    }

    /// Whether a time is at most `seconds` ago; a time in the future, as after a clock was set back, is not.
    private static func isRecent(_ time: Int64, within seconds: Int64, _ now: Int64) -> Bool {
        (0..<seconds).contains(now - time)
    }
}
