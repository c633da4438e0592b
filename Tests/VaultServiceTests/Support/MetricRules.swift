/// Lists violations of Prometheus's rules for the text format and for the names of metrics.
enum MetricRules {
    /// The suffixes that each type adds to the name of its samples.
    private static let suffixes = ["histogram": ["_bucket", "_sum", "_count"], "summary": ["", "_sum", "_count"]]
    /// Units that are not base units, and types, which a name must not contain.
    private static let wrongWords: Set<Substring> = [
        "milliseconds", "ms", "microseconds", "minutes", "hours", "days", "kilobytes", "kb", "mb", "gb", "megabytes",
        "kibibytes", "percent", "counter", "gauge", "histogram", "summary",
    ]

    /// Returns the faults of an answer in the text format.
    static func faults(in text: String) -> [String] {
        var faults = text.isEmpty || text.hasSuffix("\n") ? [] : ["the last line has no end"]
        var (types, helped, seen): ([String: String], Set<String>, Set<String>) = ([:], [], [])
        var current = ""
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            if line.hasPrefix("# HELP ") {
                if words.count < 4 || !words[3].hasSuffix(".") { faults.append("\(words[2]): its help is no sentence") }
                if !helped.insert(words[2]).inserted { faults.append("\(words[2]): its help is repeated") }
            } else if line.hasPrefix("# TYPE ") {
                (current, types[words[2]]) = (words[2], words[3])
                if !helped.contains(words[2]) { faults.append("\(words[2]): no help precedes its type") }
                faults += nameFaults(of: words[2], words[3])
            } else {
                let name = String(line.prefix { $0 != "{" && $0 != " " })
                let own = (suffixes[types[current] ?? ""] ?? [""]).map { current + $0 }
                if !own.contains(name) { faults.append("\(name): a sample outside its family") }
                let series = String(line[..<(line.lastIndex(of: " ") ?? line.endIndex)])
                if !seen.insert(series).inserted { faults.append("\(series): repeated") }
                if Double(line.dropFirst(series.count + 1)) == nil { faults.append("\(series): no number") }
                for label in labels(of: series) where !isPlain(label) || (label == "le" && !name.hasSuffix("_bucket")) {
                    faults.append("\(series): the label \(label)")
                }
            }
        }
        return faults
    }

    private static func nameFaults(of name: String, _ type: String) -> [String] {
        var faults: [String] = []
        let words = name.split(separator: "_")
        if !name.hasPrefix("mediavault_") || !isPlain(name) { faults.append("\(name): not a name of ours") }
        if (type == "counter") != name.hasSuffix("_total") { faults.append("\(name): only a counter ends in _total") }
        for suffix in ["_sum", "_count", "_bucket"] where name.hasSuffix(suffix) {
            faults.append("\(name): the suffix is reserved")
        }
        for word in words where wrongWords.contains(word) { faults.append("\(name): \(word)") }
        // The unit is the last word, but for _total.
        let last = type == "counter" ? words.dropLast().last : words.last
        for unit: Substring in ["bytes", "seconds"] where words.contains(unit) && last != unit {
            faults.append("\(name): its unit is not its last word")
        }
        return faults
    }

    private static func isPlain(_ name: String) -> Bool {
        name.first?.isLetter == true && name.allSatisfy { $0 == "_" || $0.isASCII && ($0.isLowercase || $0.isNumber) }
    }

    private static func labels(of series: String) -> [String] {
        guard let open = series.firstIndex(of: "{") else { return [] }
        return series[open...].dropFirst().dropLast().split(separator: ",").map { String($0.prefix { $0 != "=" }) }
    }
}
