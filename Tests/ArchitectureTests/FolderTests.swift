import Foundation
import Testing

/// Checks, from the sources, that the dependencies between the folders of a target go one way.
@Suite("Folders")
struct FolderTests {
    @Test(
        "No folder of a target names a type, or a member, from a folder that depends on it", arguments: Sources.targets)
    func noCircle(target: String) {
        let dependencies = Dependencies(of: target)
        #expect(!dependencies.types.isEmpty, "a target without types proves nothing")
        for (folder, uses) in dependencies.uses {
            for (other, reasons) in uses where dependencies.reachable(from: other).contains(folder) {
                Issue.record("\(target)/\(folder) and \(other) depend on each other: \(reasons.sorted())")
            }
        }
    }

    @Test("The dependencies are written to .build/folders.dot, as Graphviz draws them")
    func picture() throws {
        var lines = ["digraph folders {"]
        for target in Sources.targets {
            let dependencies = Dependencies(of: target)
            lines.append("  subgraph \"cluster_\(target)\" {\n    label = \"\(target)\"")
            for (folder, uses) in dependencies.uses.sorted(by: { $0.key < $1.key }) {
                lines += uses.sorted { $0.key < $1.key }
                    .map { "    \"\(target)/\(folder)\" -> \"\(target)/\($0.key)\" [label = \($0.value.count)]" }
            }
            lines.append("  }")
        }
        let folder = Sources.folder.deletingLastPathComponent().appending(path: ".build")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try (lines + ["}", ""]).joined(separator: "\n").write(
            to: folder.appending(path: "folders.dot"), atomically: true, encoding: .utf8)
        #expect(lines.contains { $0.hasPrefix("    \"VaultCache/Reading\" -> \"VaultCache/RangeLoader\"") })
    }

    @Test("The parser finds what a file declares and what it uses")
    func reader() {
        let text = SwiftText(
            "public struct One: Two { let three: Four } // Five \"Six\"\nextension Seven {}\nenum Eight {}")
        #expect(text.declared == ["One", "Eight"])
        #expect(text.named == ["One", "Two", "Four", "Seven", "Eight"])
        #expect(SwiftText(#"let a = "One"; // Two"#).named.isEmpty)
        #expect(SwiftText("let a = \"\"\"\nOne \"Two\"\n\"\"\"\nstruct Three {}").named == ["Three"])
        #expect(SwiftText("/* One /* Two */ Three */ let a = Four.five").named == ["Four"])
        #expect(SwiftText("let a = Four.five()").asked == ["five"])
    }

    @Test("What is interpolated is code, what is around it is not")
    func interpolation() {
        #expect(SwiftText(#"let a = "One \(Two.three("Four \(Five())")) Six""#).named == ["Two", "Five"])
        #expect(SwiftText(##"let a = #"\(One) \#(Two) \"# + Three"##).named == ["Two", "Three"])
        #expect(SwiftText("let a = \"\"\"\n  One \\(Two)\n  \"\"\"").named == ["Two"])
    }

    @Test("The parser finds what types have, and what extensions add")
    func members() {
        let text = SwiftText(
            """
            struct One {
                var two: Int { let three = 3; return three }
                func four(_ five: () -> Void) { func six() {} }
                enum Seven { case eight; init() {} }
            }
            extension Nine { static func ten() {}; subscript(_ one: Int) -> Int { one } }
            """)
        #expect(text.own["One"]?.names == ["two", "four"] && text.own["One"]?.functions == 1)
        #expect(text.own["One.Seven"]?.names == ["eight"] && text.own["One.Seven"]?.functions == 1)
        #expect(text.added["Nine"]?.names == ["ten"] && text.added["Nine"]?.functions == 2)
    }

    @Test("The search finds a cycle, also one that an extension closes")
    func circle() {
        let dependencies = Dependencies([
            ("A", SwiftText("struct One { let two: Two }")), ("B", SwiftText("struct Two { let one: One }")),
            ("C", SwiftText("struct Three { let one: One }")),
        ])
        #expect(dependencies.reachable(from: "B").contains("A") && dependencies.reachable(from: "A").contains("B"))
        #expect(!dependencies.reachable(from: "A").contains("C"))
        let files = [
            ("A", SwiftText("struct One { func act() { two.add() } }")),
            ("B", SwiftText("extension One { func add() {} }")),
        ]
        #expect(Dependencies(files).uses["A"] == ["B": ["One.add"]])
        #expect(Dependencies(files, foreign: ["add"]).uses["A"] == nil, "it could be another library's")
    }
}

/// For each folder, the folders whose types, and whose members of types from elsewhere, it names.
private struct Dependencies {
    /// The folder that declares each type.
    let types: [String: String]
    /// For each folder, the other folders that it uses, and what of them.
    let uses: [String: [String: Set<String>]]

    /// Members that earlier targets, which cannot see this one, declare or ask for count as foreign.
    init(of target: String) {
        let others = Sources.targets.prefix { $0 != target }.flatMap { Sources.texts[$0] ?? [] }
        self.init(
            Sources.texts[target] ?? [],
            foreign: others.reduce(into: []) { $0.formUnion($1.text.asked.union($1.text.members)) })
    }

    init(_ files: [(folder: String, text: SwiftText)], foreign: Set<String> = []) {
        var types: [String: String] = [:], counts: [String: Int] = [:]
        for (folder, text) in files {
            for type in text.declared { types[type] = folder }
            for members in [text.own, text.added].joined() {
                for name in members.value.names { counts[name, default: 0] += 1 }
            }
        }
        // A name that is declared once is that member's.
        var added: [String: (folder: String, type: String)] = [:]
        for (folder, text) in files {
            for (type, members) in text.added where types[type] ?? folder != folder {
                for name in members.names where counts[name] == 1 && !foreign.contains(name) {
                    added[name] = (folder, type)
                }
            }
        }
        var uses: [String: [String: Set<String>]] = [:]
        for (folder, text) in files {
            for type in text.named {
                guard let other = types[type], other != folder else { continue }
                uses[folder, default: [:]][other, default: []].insert(type)
            }
            for name in text.asked {
                guard let (other, type) = added[name], other != folder else { continue }
                uses[folder, default: [:]][other, default: []].insert("\(type).\(name)")
            }
        }
        self.types = types
        self.uses = uses
    }

    func reachable(from folder: String) -> Set<String> {
        var found: Set<String> = [], next = [folder]
        while let one = next.popLast() {
            for other in uses[one, default: [:]].keys where found.insert(other).inserted { next.append(other) }
        }
        return found
    }
}
