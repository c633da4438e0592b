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
    init(_ reader: MediaReader, now: Int64) {
        facts = MediaFacts(reader, now: now)
        second = now
        var fields = HTTPFields(AnswerPlan(facts, isRanged: false).sharedFields)
        fields[.date] = HTTPDate(seconds: now)?.description
        self.fields = fields
    }

    /// Whether an answer with a reader's bytes has them, too.
    func isGood(for reader: MediaReader, now: Int64) -> Bool {
        second == now && facts.entityTag == reader.entityTag && facts.information == reader.information
    }
}
