/// Facts for a person to read: a name and a value on each line.
enum FactSheet {
    static func text(_ facts: [(name: String, value: String)]) -> String {
        let width = facts.map(\.name.count).max() ?? 0
        return facts.map { fact in
            fact.name + String(repeating: " ", count: width - fact.name.count + 2) + Terminal.printable(fact.value)
                + "\n"
        }.joined()
    }
}
