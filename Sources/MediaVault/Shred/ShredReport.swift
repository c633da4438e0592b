/// What a shred came to.
public struct ShredReport: Hashable, Sendable {
    /// Each resource that was asked for, in that order.
    public let titles: [ShreddedTitle]
    /// What the receipts say: ``Receipt/Outcome/destroyed`` where nothing that the keyring has opens what is left of a
    /// wrapped key; ``Receipt/Outcome/removed`` where the generation that wrapped it is still there.
    public let outcome: Receipt.Outcome
    /// The current generation.
    public let generation: Int
}
