/// Whole numbers with a unit, as people write sizes, rates and durations: `200MiB`, `50M`, `90d`.
///
/// Foundation parses measurements only by locale, and accepts fractions and signs.
package enum Quantity {
    /// A unit: what follows the digits, and how much it stands for.
    package typealias Unit = (suffix: String, factor: Int64)

    /// Units of time, in seconds.
    package static let times: [Unit] = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)]

    /// Returns the number times its unit; nil if `text` is not digits and a unit, or the product exceeds `most`.
    ///
    /// - Parameter units: a suffix that ends another one stands after it.
    package static func parse(_ text: some StringProtocol, in units: [Unit], upTo most: Int64 = .max) -> Int64? {
        guard let unit = units.first(where: { text.hasSuffix($0.suffix) }) else { return nil }
        let digits = text.dropLast(unit.suffix.count)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(digits)
        else { return nil }
        let (product, overflow) = count.multipliedReportingOverflow(by: unit.factor)
        return overflow || product > most ? nil : product
    }

    /// Returns an amount other than 0 in the largest unit of which it is a whole multiple; the first of equal units.
    package static func text(_ amount: Int64, in units: [Unit]) -> String {
        let exact = units.filter { amount.isMultiple(of: $0.factor) }
        let largest = exact.map(\.factor).max() ?? 1
        return "\(amount / largest)\(exact.first { $0.factor == largest }?.suffix ?? "")"
    }
}
