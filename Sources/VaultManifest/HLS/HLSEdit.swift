/// A place of a playlist where something else is written, and what.
struct HLSEdit: Sendable {
    /// What is written.
    enum Change: Sendable {
        /// The caller's link for a reference. Parts, hints and reports matter only live, and a gap is never requested:
        /// they do not belong to the title.
        case link(ManifestReference, belongsToTitle: Bool)
        /// The path that is refused. The role is that of what players need; nil for anything else.
        case refusal(of: ManifestReference.Role?)
        /// This text; an empty one removes what stands there.
        case text(String)
    }

    /// The bytes that are replaced.
    let span: Range<Int>
    let change: Change

    init(_ span: Range<Int>, _ change: Change) {
        self.span = span
        self.change = change
    }
}
