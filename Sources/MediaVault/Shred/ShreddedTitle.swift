/// What became of one resource that was to be shredded.
public struct ShreddedTitle: Hashable, Sendable {
    /// Its URL, without credentials.
    public let url: String
    /// The bytes of its files, which are gone; nil where it was not shredded.
    public let bytes: Int64?
    /// What its receipt calls it: ``Receipt/subject``; nil where it was not shredded.
    public let subject: String?
    /// Why it was not; nil where it was.
    public let error: VaultError?
}
