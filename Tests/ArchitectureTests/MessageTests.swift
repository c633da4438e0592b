import Foundation
import Testing

/// Messages of a library, which callers without a command line also read.
@Suite("Messages")
struct MessageTests {
    private static let libraries = Sources.targets.filter { !["VaultService", "VaultCommand"].contains($0) }

    @Test("No string of a library target names an option or a subcommand of the command", arguments: libraries)
    func noCommand(target: String) throws {
        for file in try Sources.files(of: target) {
            let text = try String(contentsOf: file, encoding: .utf8)
            for string in Self.strings(in: text) {
                #expect(!Self.namesCommand(string), "\(target)/\(file.lastPathComponent): \(string)")
            }
        }
    }

    @Test("Options and subcommands are recognized, and plain words are not")
    func recognition() {
        for string in [
            "use --force", "run keys rewrap", "rebuild it with index rebuild", "`keys slot list` names them",
        ] {
            #expect(Self.namesCommand(string), "\(string)")
        }
        for string in [
            "rebuild the index", "lost its keys; rewrap them", "-----BEGIN CERTIFICATE-----", "-- a comment of SQL",
        ] {
            #expect(!Self.namesCommand(string), "\(string)")
        }
        #expect(Self.strings(in: #"let a = "one \(two) three" // "four""#) == [#"one \(two) three"#])
    }

    private static func namesCommand(_ string: String) -> Bool {
        // A punctuation mark between two words separates them: "the keys; rewrap them" names no subcommand.
        let words = string.split(separator: " ").map { $0.drop { !$0.isLetter && $0 != "-" } }
        let pairs = zip(words, words.dropFirst()).map { "\($0) \($1.prefix { $0.isLetter || $0 == "-" })" }
        return words.contains { $0.hasPrefix("--") && $0.dropFirst(2).first?.isLetter == true }
            || pairs.contains { subcommands.contains($0) }
    }

    private static let subcommands: Set<String> = [
        "index rebuild", "keys rotate", "keys rewrap", "keys retire", "keys reseal", "keys slot", "keys backup",
        "keys restore", "keys list", "keys audit", "keys destroy", "keys lock", "keys change-passphrase",
    ]

    /// The strings of one line in a source file, outside comments.
    private static func strings(in text: String) -> [String] {
        text.split(separator: "\n").flatMap { line -> [String] in
            guard !line.drop(while: \.isWhitespace).hasPrefix("//") else { return [] }
            var strings: [String] = [], current: String?, isEscaped = false
            for character in line {
                if var string = current {
                    if character == "\"", !isEscaped {
                        strings.append(string)
                        current = nil
                    } else {
                        string.append(character)
                        current = string
                    }
                    isEscaped = character == "\\" && !isEscaped
                } else if character == "\"" {
                    current = ""
                } else if character == "/", line.contains(" // ") {
                    break
                }
            }
            return strings
        }
    }
}
