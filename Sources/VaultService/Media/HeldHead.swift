import HTTPTypes
import MediaVault
import VaultModel

/// What the heads of answers with held bytes of one representation have in common, for a second: made once for many
/// answers, as its dates alone take longer than all that differs.
struct HeldHead {
    /// Of the representation; range and timing are each answer's own.
    let facts: MediaFacts
    /// The fields that all of them have, `Date` among them.
    let fields: HTTPFields
    private let second: Int64

    /// - Parameter now: seconds since 1970.
    init(_ held: HeldMedia, now: Int64) {
        facts = MediaFacts(held, now: now)
        second = now
        var fields = HTTPFields(AnswerPlan(facts, isRanged: false).sharedFields)
        fields[.date] = HTTPDate(seconds: now)?.description
        self.fields = fields
    }

    /// Whether an answer with these bytes has them, too.
    func isGood(for held: HeldMedia, now: Int64) -> Bool {
        second == now && facts.entityTag == held.entityTag && facts.information == held.information
    }
}
