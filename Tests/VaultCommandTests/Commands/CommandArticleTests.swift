import ArgumentParser
import Foundation
import Testing

@testable import VaultCommand

@Suite("The article of the commands")
struct CommandArticleTests {
    /// The left cell of each row: what a row says of a command.
    private static func rows() throws -> [String] {
        let article = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/MediaVault/MediaVault.docc/Commands.md")
        return try String(contentsOf: article, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("| `") }.map { $0.dropFirst(2).split(separator: " | ").first.map(String.init) ?? "" }
    }

    private static func words(_ text: String) -> Set<Substring> {
        Set(text.split { !$0.isLetter && $0 != "-" })
    }

    @Test("It has every command, and every subcommand in a row of its command")
    func complete() throws {
        let rows = try Self.rows()
        #expect(rows.count > 30)
        for command in MediaVaultCommand.configuration.subcommands {
            let name = try #require(command.configuration.commandName)
            let own = rows.filter { $0.contains("`\(name)`") || $0.contains("`\(name) ") }
            #expect(!own.isEmpty, "\(name) is in no row")
            let said = Self.words(own.joined(separator: " "))
            for missing in Self.names(below: command) where !said.contains(Substring(missing)) {
                Issue.record("\(missing) is in no row of \(name)")
            }
        }
    }

    @Test("A row begins with a command that exists")
    func real() throws {
        let known = Set(MediaVaultCommand.configuration.subcommands.compactMap { $0.configuration.commandName })
        for row in try Self.rows() {
            let first = try #require(row.dropFirst().split { !$0.isLetter && $0 != "-" }.first)
            #expect(known.contains(String(first)), "\(row)")
        }
    }

    private static func names(below command: any ParsableCommand.Type) -> [String] {
        command.configuration.subcommands.flatMap { [$0.configuration.commandName ?? ""] + names(below: $0) }
    }
}
