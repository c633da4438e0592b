import Testing

/// Checks how large types are, and over how many files they extend.
@Suite("Types")
struct TypeTests {
    private static let mostFunctions = 60
    private static let mostFiles = 3

    /// The types that are too large, with their sizes, which may only decrease.
    private static let tooLarge: [String: Size] = [
        "MediaVault.KeyAdministration": Size(44, in: 8)
    ]

    private struct Size: Equatable {
        var functions = 0
        var files = 0

        init(_ functions: Int = 0, in files: Int = 0) { (self.functions, self.files) = (functions, files) }
    }

    @Test("No type has more than 60 functions, nor more than 3 files, and those that do only shrink")
    func sizes() {
        var found: [String: Size] = [:]
        for target in Sources.targets {
            for (_, text) in Sources.texts[target] ?? [] {
                for (type, members) in text.own.merging(text.added, uniquingKeysWith: Self.sum) {
                    found["\(target).\(type)", default: Size()].functions += members.functions
                    found["\(target).\(type)", default: Size()].files += 1
                }
            }
        }
        #expect(found.count > 500, "a parser that finds no types proves nothing")
        let large = found.filter { $0.value.functions > Self.mostFunctions || $0.value.files > Self.mostFiles }
        for (type, size) in large.sorted(by: { $0.key < $1.key }) where Self.tooLarge[type] != size {
            let known = Self.tooLarge[type].map { "\($0.functions) in \($0.files)" } ?? "none"
            let has = "\(type) has \(size.functions) functions in \(size.files) files, the list says \(known)"
            Issue.record(
                "\(has): if it has grown, give a part a type of its own; if it has shrunk, write the new numbers")
        }
        let gone = Self.tooLarge.keys.filter { large[$0] == nil }
        #expect(gone.isEmpty, "these are small by now: take them off the list")
    }

    private static func sum(_ one: SwiftText.Members, _ other: SwiftText.Members) -> SwiftText.Members {
        SwiftText.Members(names: one.names.union(other.names), functions: one.functions + other.functions)
    }
}
