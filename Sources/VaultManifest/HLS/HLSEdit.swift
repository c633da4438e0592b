/// A place in a playlist, and the text that replaces it.
struct HLSEdit: Sendable {
    /// The text that replaces the bytes.
    enum Change: Sendable {
        /// The caller's link for a reference. Some references do not belong to the title: partial segments, hints and
        /// reports matter only while the playlist is live, and a gap is never requested.
        case link(ManifestReference, belongsToTitle: Bool)
        /// The path that the service refuses. The role is that of a resource that players need, or nil for any other.
        case refusal(of: ManifestReference.Role?)
        /// The given text. An empty text removes the bytes.
        case text(String)
    }

    /// The range of bytes to replace.
    let span: Range<Int>
    let change: Change
    /// Whether the URI lacks the quotation marks that its link needs, because a link may contain a comma.
    let lacksQuotes: Bool
    /// The line that has no meaning without its URI; nil if the line has a meaning without it.
    let line: Range<Int>?

    init(_ span: Range<Int>, _ change: Change, lacksQuotes: Bool = false, line: Range<Int>? = nil) {
        self.span = span
        self.change = change
        self.lacksQuotes = lacksQuotes
        self.line = line
    }

    /// Returns the text to write, or nil to keep the existing bytes.
    ///
    /// - Parameter link: returns the link for a reference, or nil to keep the reference.
    func text(_ link: (ManifestReference) throws -> String?) rethrows -> String? {
        let mark = lacksQuotes ? "\"" : ""
        switch change {
        case .text(let text): return text
        case .refusal: return mark + ManifestTarget.refusal + mark
        case .link(let reference, _): return try link(reference).map { mark + ManifestLink.escaped($0) + mark }
        }
    }

    /// Returns this edit for a line that turns out not to belong to the title.
    func beside(_ line: Range<Int>) -> HLSEdit {
        switch change {
        case .text: self
        case .refusal: HLSEdit(span, .refusal(of: nil), lacksQuotes: lacksQuotes, line: line)
        case .link(let reference, _):
            HLSEdit(span, .link(reference, belongsToTitle: false), lacksQuotes: lacksQuotes, line: line)
        }
    }
}
