import VaultModel

// What an MPD states in attributes.
extension MarkupElement {
    /// Keeps only the text, whose pieces players join, or replaces all content with another text.
    mutating func keepText(_ text: String?) {
        if let text { replaceContent(by: text) } else { children.removeAll { $0.element != nil } }
    }

    /// Returns an attribute as a non-negative whole number; nil if it is not one, or does not fit in 63 bits.
    func number(_ name: String) -> Int64? { self[name].flatMap { DecimalNumber.exact($0.trimmingSpace()) } }

    /// Returns the range that an attribute states as `first-last`, both inclusive; nil for anything else.
    func byteRange(_ name: String) -> ByteRange? {
        let ends = self[name]?.trimmingSpace().split(separator: "-", omittingEmptySubsequences: false) ?? []
        guard ends.count == 2, let first = DecimalNumber.exact(ends[0]), let last = DecimalNumber.exact(ends[1]),
            first <= last, last < .max
        else { return nil }
        return first..<(last + 1)
    }

    /// Returns the range that an attribute states in the form that ``byteRange(_:)`` reads, or as `first-`, which
    /// extends to the end of the file.
    func copiedRange(_ name: String) -> ByteRange? {
        if let range = byteRange(name) { return range }
        guard let text = self[name]?.trimmingSpace(), text.last == "-" else { return nil }
        return DecimalNumber.exact(text.dropLast()).flatMap { $0 < .max ? $0..<Int64.max : nil }
    }
}
