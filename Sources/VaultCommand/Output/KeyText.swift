import Foundation
import MediaVault
import VaultModel
import VaultService

/// How the keys stand, for a person to read.
enum KeysText {
    static func text(_ document: KeysDocument) -> String {
        let rows = document.generations.map { generation in
            [
                String(generation.number), generation.state, day(generation.created),
                String(generation.resources), ByteCount.text(generation.bytes), String(generation.backups),
            ]
        }
        let folded = document.folded.map { range in
            ["\(range.first)-\(range.last)", GenerationState.retired.rawValue, "-", "-", "-", "-"]
        }
        return table([["GENERATION", "STATE", "MADE", "TITLES", "BYTES", "BACKUPS"]] + folded + rows)
            + remarks(document).map { Terminal.printable($0) + "\n" }.joined()
    }

    /// What is left to do, a sentence each.
    static func remarks(_ document: KeysDocument) -> [String] {
        var remarks = document.older.map(remark)
        if let crowd = crowd(document) { remarks.append(crowd) }
        if document.locatorChanging {
            remarks.append("resource ids are being computed anew: run keys rotate --locator to finish that")
        }
        remarks += unfinished(document)
        if let act = document.act.value { remarks.append("\(act) works on the keys now") }
        return remarks
    }

    /// Said long before a keyring is full; nil where there is room.
    static func crowd(_ document: KeysDocument) -> String? {
        let count = document.older.count + 1
        guard count >= KeyReport.most / 16 else { return nil }
        return "the keyring holds \(count) generations that are not retired, and \(KeyReport.most) are the most "
            + "that it can: run keys rewrap, then keys retire for the older ones"
    }

    private static func remark(_ generation: KeysDocument.Generation) -> String {
        let number = generation.number
        guard generation.resources > 0 else {
            return "nothing needs generation \(number) any more: run keys retire \(number)"
        }
        // Where the reseal lets go of every key that it wraps, wrapping those anew is no use.
        let what = generation.leaving < generation.resources ? "run keys rewrap" : "until their reseal is finished"
        return "generation \(number) is still needed by \(need(generation)): \(what)"
    }

    /// What is left of a reseal and of shreds, and what finishes it.
    private static func unfinished(_ document: KeysDocument) -> [String] {
        var remarks: [String] = []
        if let rest = document.reseal.value {
            let titles = "\(rest.resources) titles, \(ByteCount.text(rest.bytes))"
            remarks.append(
                rest.due
                    ? "a reseal of \(titles), is not finished" + remedy(.reseal, document)
                    : "\(titles), keep an older key that a reseal could not let go: run verify, then keys reseal for them"
            )
        }
        if document.shreds > 0 {
            remarks.append("the shred of \(document.shreds) titles is not finished" + remedy(.shred, document))
        }
        return remarks
    }

    /// What finishes an act; nothing where it works now.
    private static func remedy(_ act: Receipt.Act, _ document: KeysDocument) -> String {
        guard document.act.value != act.command else { return "" }
        return ": the next start of the service goes on with it at the latest; to go on now, run the same "
            + "\(act.command) again"
    }

    /// Says what an act has not done.
    static func tellRest(_ act: Receipt.Act, _ document: KeysDocument) async {
        if let leaves = act.leaves { await Terminal.shared.say("not done: \(leaves)") }
        for generation in document.older where generation.resources > 0 {
            await Terminal.shared.say("generation \(generation.number) is still needed by \(need(generation))")
        }
        if let crowd = crowd(document) { await Terminal.shared.say(crowd) }
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

/// The slots of a keyring for a person to read: a line each.
enum SlotTable {
    static func text(_ slots: [KeyringListing.Slot]) -> String {
        let width = slots.map(\.method.count).max() ?? 0
        return slots.map { slot in
            let method = slot.method + String(repeating: " ", count: width - slot.method.count)
            return "\(slot.number)  \(method)  \(Terminal.printable(slot.label))\(cost(slot))\n"
        }.joined()
    }

    private static func cost(_ slot: KeyringListing.Slot) -> String {
        guard let passes = slot.opsLimit.value, let memory = slot.memLimit.value else { return "" }
        return " (\(passes) passes over \(memory >> 20) MiB)"
    }
}

/// What the command says of wrapping every key anew, and its exit code.
struct RewrapText: Hashable, Sendable {
    /// A sentence each.
    let remarks: [String]
    let status: ExitStatus

    init(_ document: RewrapDocument) {
        let isNothing = document.keys == 0 && document.unopened == 0
        let done =
            isNothing
            ? "generation \(document.generation) wraps every key already"
            : "\(document.keys) keys are wrapped by generation \(document.generation)"
        // Nobody is shut out while a row is left that an older generation opens.
        guard document.unopened == 0 else {
            remarks = [
                done,
                "\(document.unopened) keys do not open and stay as they are: remove the titles that list cannot name",
            ]
            status = .integrity
            return
        }
        let act = Receipt.Act.rewrap
        let cutsOff = document.keys > 0 ? act.cutsOff : nil
        let leaves = document.older.isEmpty ? nil : act.leaves
        let effect = [cutsOff, leaves].compactMap(\.self).joined(separator: "; ")
        remarks = effect.isEmpty ? [done] : [done, effect]
        status = .done
    }
}

/// What the command says of a reseal as a whole, and its exit code.
struct ResealText: Hashable, Sendable {
    /// A sentence each.
    let remarks: [String]
    let status: ExitStatus

    init(_ report: ResealReport) {
        var remarks = [
            "\(report.resources) titles have new keys, \(ByteCount.text(report.bytes)) were sealed anew"
        ]
        if report.damage > 0 {
            remarks.append(
                "\(report.damage) pieces of damage were met, and are gaps now: run verify, and fetch the titles that list "
                    + "does not show as whole")
        }
        if report.problems > 0 {
            remarks.append(
                "\(report.problems) titles keep an older key: run verify, and remove what does not open")
        }
        self.remarks = remarks
        status = report.damage + report.problems > 0 ? .integrity : .done
    }
}

/// What the command says of a shred as a whole, and its exit code.
struct ShredText: Hashable, Sendable {
    /// Nil where nothing was shredded: what failed has been said.
    let remark: String?
    let status: ExitStatus

    /// - Parameter isQuick: whether older generations were to stay.
    init(_ document: ShredDocument, isQuick: Bool) {
        let problems = document.resources.compactMap(\.problem.value)
        let failure = problems.first.map { $0.error.map { ExitStatus($0.code) } ?? .failed }
        if problems.count == document.resources.count {
            (remark, status) = (nil, failure ?? .done)
        } else if document.outcome == Receipt.Outcome.destroyed.rawValue {
            remark = "generation \(document.generation) is current, and wraps every key; back the keyring up"
            status = failure ?? .done
        } else if isQuick {
            remark =
                "an older generation is still there: keys rotate, keys rewrap and keys retire destroy what wrapped the keys"
            status = failure ?? .done
        } else {
            remark =
                "not destroyed: a generation that wrapped the keys had to stay, because it wraps a key that does not open; "
                + "keys list shows it as retiring: remove the titles that list cannot name, then run keys retire for it"
            status = .integrity
        }
    }
}
