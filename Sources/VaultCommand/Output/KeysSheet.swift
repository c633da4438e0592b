import Foundation
import MediaVault
import VaultService

/// How the keys stand, for a person to read.
enum KeysSheet {
    static func text(_ document: KeysDocument) -> String {
        let rows = document.generations.map { generation in
            [
                String(generation.number), generation.state, day(generation.created),
                String(generation.resources), ByteCount.text(generation.bytes), String(generation.backups),
            ]
        }
        return table([["GENERATION", "STATE", "MADE", "TITLES", "BYTES", "BACKUPS"]] + rows)
            + remarks(document).map { Terminal.printable($0) + "\n" }.joined()
    }

    /// What is left to do, a sentence each.
    static func remarks(_ document: KeysDocument) -> [String] {
        var remarks = document.older.map { generation in
            generation.resources > 0
                ? "generation \(generation.number) is still needed by \(need(generation)): run keys rewrap"
                : "nothing needs generation \(generation.number) any more: run keys retire \(generation.number)"
        }
        if document.locatorChanging {
            remarks.append("resource ids are being computed anew: run keys rotate --locator to finish that")
        }
        if let act = document.act.value { remarks.append("\(act) works on the keys now") }
        return remarks
    }

    /// Says what an act has not done.
    static func tellRest(_ act: Receipt.Act, _ document: KeysDocument) async {
        if let leaves = act.leaves { await Terminal.shared.say("not done: \(leaves)") }
        for generation in document.older where generation.resources > 0 {
            await Terminal.shared.say("generation \(generation.number) is still needed by \(need(generation))")
        }
    }

    /// Who is shut out now that a generation was retired: all of it holds only once no older one is left.
    static func cutOff(by document: KeysDocument) -> String? {
        guard !document.older.isEmpty else { return Receipt.Act.retire.cutsOff }
        let left = document.older.map { String($0.number) }.joined(separator: ", ")
        return "an older copy of the keyring still opens what generation \(left) wraps"
    }

    /// What needs a generation: `12 titles, 3.2 GB`.
    static func need(_ generation: KeysDocument.Generation) -> String {
        "\(generation.resources) titles, \(ByteCount.text(generation.bytes))"
    }

    /// A day in UTC, as ISO 8601 writes it.
    static func day(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601.year().month().day())
    }

    private static func table(_ rows: [[String]]) -> String {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = zip(row.dropLast(), widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return (cells + row.suffix(1)).joined(separator: "  ") + "\n"
        }.joined()
    }
}
