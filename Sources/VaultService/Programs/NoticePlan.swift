import MediaVault
import VaultModel

/// Which notices are sent: a value. The same one is not repeated for a while, and there are never too many at a time.
struct NoticePlan: Sendable {
    private struct Subject: Hashable {
        let kind: OperatorNotice.Kind
        let id: TitleID?
    }

    /// When each was last sent, in seconds since 1970.
    private var sent: [Subject: Int64] = [:]
    /// When the last ones were sent.
    private var recent: [Int64] = []
    private var omitted = 0

    /// How long a notice of one kind about one title is not repeated, in seconds.
    static let quiet: Int64 = 3600
    /// The same for ``OperatorNotice/Kind/titleExpiring``: longer than a title is expiring.
    static let quietOfExpiry: Int64 = 2 * ExpiringTitle.notice
    /// The most notices within ``burstTime``.
    static let burst = 10
    /// The seconds in which at most ``burst`` notices are sent.
    static let burstTime: Int64 = 600

    /// Returns the notice to send, which counts those that were left out since the last one; nil if it is not sent.
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

    /// Whether a time is at most `seconds` ago; one in the future, as after a clock was set back, is not.
    private static func isRecent(_ time: Int64, within seconds: Int64, _ now: Int64) -> Bool {
        (0..<seconds).contains(now - time)
    }
}
