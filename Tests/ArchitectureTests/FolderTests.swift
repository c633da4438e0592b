import Foundation
import Testing

/// The dependencies between the folders of a target, read from the sources: they go one way.
@Suite("Folders")
struct FolderTests {
    /// The targets whose folders must not form a dependency cycle.
    private static let targets = [
        "VaultModel", "VaultManifest", "VaultCrypto", "VaultStorage", "VaultFetch", "MediaVault", "VaultService",
        "VaultCommand",
    ]

    @Test("No folder of a target names a type from a folder that depends on it", arguments: targets)
    func noCircle(target: String) throws {
        let dependencies = try Dependencies(of: target)
        #expect(!dependencies.types.isEmpty, "a target without types proves nothing")
        for (folder, uses) in dependencies.uses {
            for (other, reasons) in uses where dependencies.reachable(from: other).contains(folder) {
                Issue.record("\(target)/\(folder) and \(other) depend on each other: \(reasons.sorted())")
            }
        }
    }

    @Test("The parser finds the names that a file declares and the names that it uses")
    func reader() {
        let text = SwiftText(
            "public struct One: Two { let three: Four } // Five \"Six\"\nextension Seven {}\nenum Eight {}")
        #expect(text.declared == ["One", "Eight"])
        #expect(text.named == ["One", "Two", "Four", "Seven", "Eight"])
        #expect(SwiftText(#"let a = "One"; // Two"#).named.isEmpty)
        #expect(SwiftText("let a = \"\"\"\nOne \"Two\"\n\"\"\"\nstruct Three {}").named == ["Three"])
    }

    @Test("The search finds a cycle")
    func circle() {
        let dependencies = Dependencies([
            ("A", SwiftText("struct One { let two: Two }")), ("B", SwiftText("struct Two { let one: One }")),
            ("C", SwiftText("struct Three { let one: One }")),
        ])
        #expect(dependencies.reachable(from: "B").contains("A") && dependencies.reachable(from: "A").contains("B"))
        #expect(!dependencies.reachable(from: "A").contains("C"))
    }
}

/// For each folder, the folders whose types it names.
private struct Dependencies {
    /// The folder that declares each type.
    let types: [String: String]
    /// For each folder, the other folders whose types it names, and those types.
    let uses: [String: [String: Set<String>]]

    init(of target: String) throws {
        let folder = Sources.folder.appending(path: target)
        self.init(
            try Sources.files(of: target).map { file in
                let parts = file.deletingLastPathComponent().pathComponents.dropFirst(folder.pathComponents.count)
                return (parts.joined(separator: "/"), SwiftText(try String(contentsOf: file, encoding: .utf8)))
            })
    }

    init(_ files: [(folder: String, text: SwiftText)]) {
        var types: [String: String] = [:]
        for (folder, text) in files {
            for type in text.declared { types[type] = folder }
        }
        var uses: [String: [String: Set<String>]] = [:]
        for (folder, text) in files {
            for type in text.named {
                guard let other = types[type], other != folder else { continue }
                uses[folder, default: [:]][other, default: []].insert(type)
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

/// The top-level declarations of a source file, and the capitalized names that it uses outside comments and strings.
private struct SwiftText {
    let declared: Set<String>
    let named: Set<String>

    private static let kinds: Set<Substring> = ["struct", "enum", "class", "protocol", "actor", "typealias"]

    init(_ text: String) {
        var declared: Set<String> = [], named: Set<String> = []
        // Every second part is the content of a multi-line string.
        let outside = text.components(separatedBy: "\"\"\"").enumerated().filter { $0.offset.isMultiple(of: 2) }
        for line in outside.map(\.element).joined().split(separator: "\n") {
            let code = Self.code(of: line)
            let words = code.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
            named.formUnion(words.filter { $0.first?.isUppercase == true }.map(String.init))
            guard let first = line.first, !first.isWhitespace, words.first != "extension",
                let kind = words.firstIndex(where: Self.kinds.contains), kind + 1 < words.count
            else { continue }
            declared.insert(String(words[kind + 1]))
        }
        self.declared = declared
        self.named = named
    }

    /// A line without its strings and its comment.
    private static func code(of line: Substring) -> String {
        var code = "", isString = false, isEscaped = false, last: Character = " "
        for character in line {
            if isString {
                if !isEscaped, character == "\"" { isString = false }
                isEscaped = !isEscaped && character == "\\"
            } else if character == "\"" {
                isString = true
            } else if character == "/", last == "/" {
                return code
            } else {
                code.append(character)
            }
            last = character
        }
        return code
    }
}
