import Testing

/// Checks how large types are, and over how many files they extend.
@Suite("Types")
struct TypeTests {
    private static let mostFunctions = 60
    private static let mostFiles = 3

    private struct Size {
        var functions = 0
        var files = 0
    }

    @Test("No type has more than 60 functions, nor more than 3 files")
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
        #expect(found.values.contains { $0.functions > 40 }, "nor does one that finds no functions")
        for (type, size) in found.sorted(by: { $0.key < $1.key })
        where size.functions > Self.mostFunctions || size.files > Self.mostFiles {
            let has = "\(type) has \(size.functions) functions in \(size.files) files"
            Issue.record("\(has): give a part a type of its own")
        }
    }

    private static func sum(_ one: SwiftText.Members, _ other: SwiftText.Members) -> SwiftText.Members {
        SwiftText.Members(names: one.names.union(other.names), functions: one.functions + other.functions)
    }
}
