/// One metric as Prometheus reads it: all its samples, under one name.
struct MetricFamily: Hashable, Sendable {
    enum Kind: String, Sendable { case counter, gauge, summary }

    /// One figure and the labels it stands under.
    struct Sample: Hashable, Sendable {
        /// What is put after the family's name: `_sum` say.
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
    /// What it counts, in a sentence.
    var help = ""
    var samples: [Sample]

    /// The text format, version 0.0.4: each line ended.
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

    /// Whole numbers without a point: counts of bytes stay what they are as long as a double can say them.
    private static func text(of value: Double) -> String {
        Int64(exactly: value).map(String.init)
            ?? (value.isNaN ? "NaN" : value > 0 && value.isInfinite ? "+Inf" : "\(value)")
    }

    private static func escaped(_ text: String, quotes: Bool = true) -> String {
        var escaped = text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        if quotes { escaped = escaped.replacing("\"", with: "\\\"") }
        return escaped
    }
}
