import ArgumentParser

extension ListColumn {
    /// The columns that the value of the option may go on with.
    static let completion = CompletionKind.custom { _, _, prefix in values(continuing: prefix) }

    /// Returns the values that begin with the typed columns, and have one more that is not among them.
    static func values(continuing typed: String) -> [String] {
        // The whole word may be typed as --columns=id.
        let value = typed.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).last ?? ""
        let known = value.split(separator: ",", omittingEmptySubsequences: false).dropLast().map(String.init)
        let head = typed.dropLast(value.count) + known.map { $0 + "," }.joined()
        return allCases.map(\.rawValue).filter { !known.contains($0) }.map { head + $0 }
    }
}
