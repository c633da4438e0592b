import Foundation

/// Figures with their bounds. It prints each figure, and records whether all were within their bounds.
package struct BoundedFigures {
    /// Whether every figure so far is within its bound.
    package private(set) var areMet = true

    package init() {}

    /// Prints a figure with an upper bound.
    package mutating func tell(_ what: String, _ value: Double, atMost bound: Double, unit: String = "") {
        tell(what, value, "<=", bound, unit, isMet: value <= bound)
    }

    /// Prints a figure with a lower bound.
    package mutating func tell(_ what: String, _ value: Double, atLeast bound: Double, unit: String = "") {
        tell(what, value, ">=", bound, unit, isMet: value >= bound)
    }

    private mutating func tell(
        _ what: String, _ value: Double, _ relation: String, _ bound: Double, _ unit: String, isMet: Bool
    ) {
        let (shown, limit) = (String(format: "%.3g", value), String(format: "%g", bound))
        print("figure: \(what) = \(shown)\(unit) (\(relation) \(limit)\(unit))\(isMet ? "" : " NOT MET")")
        areMet = areMet && isMet
    }
}
