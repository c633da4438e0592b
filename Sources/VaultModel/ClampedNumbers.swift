// Arithmetic on lengths and times from untrusted sources, whose sums and products may overflow.
extension Int64 {
    /// Returns the sum of two nonnegative numbers, or `Int64.max` if the sum overflows.
    package func addingClamped(_ other: Int64) -> Int64 {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? .max : sum
    }

    /// Returns the product of two nonnegative numbers, or `Int64.max` if the product overflows.
    package func multipliedClamped(by other: Int64) -> Int64 {
        let (product, isTooLarge) = multipliedReportingOverflow(by: other)
        return isTooLarge ? .max : product
    }
}

extension Sequence<Int64> {
    /// The sum of the numbers, which must not be negative, or `Int64.max` if the sum overflows.
    package var clampedSum: Int64 { reduce(0) { $0.addingClamped($1) } }
}
