// Retired generations are kept for ever, so that a number is never used twice, and a file has an end.
extension KeyringDocument {
    /// Retired generations with numbers in a row, told of together.
    package struct RetiredRange: Sendable {
        package var first: Int64
        package var last: Int64
        /// The most backup files that hold the key of one of them.
        package var backups: Int64
        var rest = JSONObject()

        /// The numbers.
        package var numbers: ClosedRange<Int> { Int(first)...Int(last) }
    }

    /// The most retired generations that have an entry of their own.
    static let mostRetired = 128

    /// Tells of the oldest retired generations in ranges, where more than ``mostRetired`` have an entry.
    ///
    /// The highest number keeps its entry: a version that does not know of ranges counts on from there.
    mutating func fold() {
        let entries = generations.filter { $0.key == nil }.sorted { $0.number < $1.number }.dropLast(Self.mostRetired)
        guard !entries.isEmpty else { return }
        let numbers = Set(entries.map(\.number))
        generations.removeAll { numbers.contains($0.number) }
        let ranges = retired + entries.map { RetiredRange(first: $0.number, last: $0.number, backups: $0.backups) }
        retired = ranges.sorted { $0.first < $1.first }.reduce(into: []) { joined, range in
            guard let before = joined.last, before.last + 1 == range.first else { return joined.append(range) }
            joined[joined.count - 1].last = range.last
            joined[joined.count - 1].backups = max(before.backups, range.backups)
        }
    }

    /// The highest number that a generation has, or had.
    var highestGeneration: Int64 { max(generations.map(\.number).max() ?? 0, retired.last?.last ?? 0) }
}

extension KeyringDocument.RetiredRange {
    init(reading object: JSONObject) throws(JSONObject.MemberFailure) {
        first = try object.keyNumber("first")
        last = try object.keyNumber("last")
        backups = try object.integer("backups")
        rest = object
        guard first <= last else { throw .init(name: "last") }
    }

    var object: JSONObject {
        var object = rest
        object["first"] = .integer(first)
        object["last"] = .integer(last)
        object["backups"] = .integer(backups)
        return object
    }
}
