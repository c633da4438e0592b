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
    /// Whether quotation marks are missing around a URI: a link may have a comma in it.
    let lacksQuotes: Bool
    /// The line that says nothing without its URI; nil if the line counts all the same.
    let line: Range<Int>?

    init(_ span: Range<Int>, _ change: Change, lacksQuotes: Bool = false, line: Range<Int>? = nil) {
        self.span = span
        self.change = change
        self.lacksQuotes = lacksQuotes
        self.line = line
    }

    /// Returns what is written, or nil to keep what stands there.
    ///
    /// - Parameter link: returns the link for a reference, or nil for none.
    func text(_ link: (ManifestReference) throws -> String?) rethrows -> String? {
        let mark = lacksQuotes ? "\"" : ""
        switch change {
        case .text(let text): return text
        case .refusal: return mark + ManifestTarget.refusal + mark
        case .link(let reference, _): return try link(reference).map { mark + ManifestLink.escaped($0) + mark }
        }
    }

    /// Returns the same for a line that is no part of the title after all.
    func beside(_ line: Range<Int>) -> HLSEdit {
        switch change {
        case .text: self
        case .refusal: HLSEdit(span, .refusal(of: nil), lacksQuotes: lacksQuotes, line: line)
        case .link(let reference, _):
            HLSEdit(span, .link(reference, belongsToTitle: false), lacksQuotes: lacksQuotes, line: line)
        }
    }
}
