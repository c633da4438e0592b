import Foundation

/// Figures beside their bounds: each is printed as it is told, and whether all were within theirs is remembered.
package struct BoundedFigures {
    /// Whether each that was told lies within its bound.
    package private(set) var areMet = true

    package init() {}

    /// Prints a figure that may be so large.
    package mutating func tell(_ what: String, _ value: Double, atMost bound: Double, unit: String = "") {
        tell(what, value, "<=", bound, unit, isMet: value <= bound)
    }

    /// Prints a figure that may be so small.
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
