import ArgumentParser
import MediaVault
import VaultService

struct IndexCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index", abstract: "Mend the vault's index.", subcommands: [IndexRebuildCommand.self])
}

struct IndexRebuildCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild",
        abstract: "Make a lost or damaged index.sqlite anew from catalog.backup and the segments.",
        discussion: """
            Opens every segment, and puts the new index in place when it is whole. The old one is kept as \
            index.sqlite.damaged: delete it when the vault is found good.
            """)

    @Flag(help: "Do it though nothing is wrong with the index.")
    var force = false

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let (opener, isForced) = (try await access.opener(), force)
        let report = try await Interruption.cancelling("the index is as it was") {
            let terminal = Terminal.shared
            let report = try await Vault.rebuildIndex(
                opener.place, unlock: opener.unlock, evenIfSound: isForced
            ) { part in
                if terminal.canRedraw { await terminal.redraw("index rebuild  \(Int(part * 100)) %") }
            }
            await terminal.keepLine()
            return report
        }
        try await StandardOutput.shared.write(json ? try JSONText.of(report) + "\n" : Self.text(report))
    }

    private static func text(_ report: RebuildReport) -> String {
        var facts: [(name: String, value: String)] = [
            ("holds", "\(ByteCount.text(report.bytes)) of \(report.resources) titles, in \(report.segments) segments"),
            ("bad blocks", String(report.badBlocks)), ("cut", String(report.cut)),
            ("quarantined", String(report.quarantined)), ("unknown", String(report.unknown)),
        ]
        if report.unknownToBackup > 0 {
            facts.append(("not in backup", "\(report.unknownToBackup) segments that the old index had"))
        }
        if report.areSettingsLost { facts.append(("settings", "lost, and those of a new vault: set them again")) }
        return FactSheet.text(facts)
    }
}
