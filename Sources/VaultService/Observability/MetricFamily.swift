/// A Prometheus metric, consisting of all samples with the same name.
struct MetricFamily: Hashable, Sendable {
    enum Kind: String, Sendable { case counter, gauge, histogram }

    /// A value and its labels.
    struct Sample: Hashable, Sendable {
        /// The suffix to the family's name, such as `_sum`.
        var suffix = ""
        var labels: [Label] = []
        let value: Double
    }

    struct Label: Hashable, Sendable {
        let name: String
        let value: String

        init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    let name: String
    let kind: Kind
    /// A sentence that describes the metric.
    var help = ""
    var samples: [Sample]

    /// The family in version 0.0.4 of the text format. Each line is terminated.
    var text: String {
        var text = help.isEmpty ? "" : "# HELP \(name) \(Self.escaped(help, quotes: false))\n"
        text += "# TYPE \(name) \(kind.rawValue)\n"
        for sample in samples {
            text += "\(name)\(sample.suffix)\(Self.text(of: sample.labels)) \(Self.text(of: sample.value))\n"
        }
        return text
    }

    private static func text(of labels: [Label]) -> String {
        guard !labels.isEmpty else { return "" }
        return "{" + labels.map { "\($0.name)=\"\(escaped($0.value))\"" }.joined(separator: ",") + "}"
    }

    /// Returns the text of a value. A whole number has no decimal point, so that byte counts are as exact as a double
    /// allows.
    static func text(of value: Double) -> String {
        Int64(exactly: value).map(String.init)
            ?? (value.isNaN ? "NaN" : value.isInfinite ? (value > 0 ? "+Inf" : "-Inf") : "\(value)")
    }

    private static func escaped(_ text: String, quotes: Bool = true) -> String {
        var escaped = text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        if quotes { escaped = escaped.replacing("\"", with: "\\\"") }
        return escaped
    }
}
