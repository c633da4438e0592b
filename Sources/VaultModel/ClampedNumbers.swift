// Lengths and times that others state: their sums and products may be larger than any number.
extension Int64 {
    /// Returns the sum of two numbers that are not negative, or the largest number if it is larger.
    package func addingClamped(_ other: Int64) -> Int64 {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? .max : sum
    }

    /// Returns the product of two numbers that are not negative, or the largest number if it is larger.
    package func multipliedClamped(by other: Int64) -> Int64 {
        let (product, isTooLarge) = multipliedReportingOverflow(by: other)
        return isTooLarge ? .max : product
    }
}

extension Sequence<Int64> {
    /// The sum of numbers that are not negative, or the largest number if it is larger.
    package var clampedSum: Int64 { reduce(0) { $0.addingClamped($1) } }
}
