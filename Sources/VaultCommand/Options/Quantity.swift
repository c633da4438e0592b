import MediaVault

/// A whole number with a unit.
enum Quantity {
    /// The number times its unit; nil where it is none, or more than a vault counts.
    static func parse(_ digits: Substring, times factor: Int64) -> Int64? {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(digits)
        else { return nil }
        let (product, overflow) = count.multipliedReportingOverflow(by: factor)
        return overflow || product > ContentInformation.mostBytes ? nil : product
    }
}
