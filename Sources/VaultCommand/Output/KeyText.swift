import Foundation
import MediaVault
import VaultModel
import VaultService

/// Formats the state of the keys for people.
enum KeysText {
    static func text(_ document: KeysDocument) -> String {
        let rows = document.generations.map { generation in
            [
                String(generation.number), generation.state.rawValue, day(generation.created),
                String(generation.titles), ByteCount.text(generation.bytes), String(generation.backups),
            ]
        }
        let folded = document.folded.map { range in
            ["\(range.first)-\(range.last)", GenerationState.retired.rawValue, "-", "-", "-", "-"]
        }
        return TextTable.text([["GENERATION", "STATE", "CREATED", "TITLES", "BYTES", "BACKUPS"]] + folded + rows)
            + remarks(document).map { Terminal.printable($0) + "\n" }.joined()
    }

    /// Returns one sentence for each piece of work that remains to be done.
    static func remarks(_ document: KeysDocument) -> [String] {
        var remarks = document.older.map(remark)
        if let crowd = crowd(document) { remarks.append(crowd) }
        if document.locatorChanging {
            remarks.append("resource ids are being recomputed: run keys rotate --locator to finish that")
        }
        remarks += unfinished(document)
        if let act = document.act { remarks.append("\(act) is running") }
        return remarks
    }

    /// Returns a warning that the keyring is filling up, which is given long before it is full; nil while there are few
    /// generations.
    static func crowd(_ document: KeysDocument) -> String? {
        let count = document.older.count + 1
        guard count >= KeyReport.most / 16 else { return nil }
        return "the keyring has \(count) generations that are not retired, and can have at most \(KeyReport.most): "
            + "run keys rewrap, then keys retire for the older ones"
    }

    private static func remark(_ generation: GenerationReport) -> String {
        let number = generation.number
        guard generation.resources > 0 else {
            return "nothing needs generation \(number) any more: run keys retire \(number)"
        }
        // If the running reseal replaces every key that the generation wraps, rewrapping these keys is useless.
        let what = generation.leaving < generation.resources ? "run keys rewrap" : "wait for their reseal to finish"
        return "generation \(number) is still needed by \(need(generation)): \(what)"
    }

    /// Returns sentences about an unfinished reseal and unfinished shreds, and how to finish them.
    private static func unfinished(_ document: KeysDocument) -> [String] {
        var remarks: [String] = []
        if let rest = document.reseal {
            let titles = "\(Count.of(rest.resources, "title")) (\(ByteCount.text(rest.bytes)))"
            remarks.append(
                rest.isDue
                    ? "the reseal of \(titles) is not finished" + remedy(.reseal, document)
                    : "\(titles) \(rest.resources == 1 ? "keeps" : "keep") an older key that a reseal could not free: "
                        + "run verify, then keys reseal for \(rest.resources == 1 ? "it" : "them")"
            )
        }
        if document.shreds > 0 {
            remarks.append(
                "the shred of \(Count.of(document.shreds, "title")) is not finished" + remedy(.shred, document))
        }
        return remarks
    }

    /// Returns words that state how to finish a key operation; empty if the operation is running.
    private static func remedy(_ act: Receipt.Act, _ document: KeysDocument) -> String {
        guard document.act != act.command else { return "" }
        return ": the service continues it at its next start at the latest; to continue now, run the same "
            + "\(act.command) again"
    }

    /// The advice that is given after a change to the keyring.
    static let backUp = "back up the keyring again: the vault refuses an older copy, which lacks the newest keys"

    /// Prints what a key operation has left to be done. The table of the generations says it, too, so that only the
    /// note is printed beside it.
    static func printRemainingWork(_ act: Receipt.Act, _ document: KeysDocument, besideTable: Bool) async {
        if let leaves = act.leaves { await Terminal.shared.say("note: \(leaves)") }
        guard !besideTable else { return }
        for generation in document.older where generation.resources > 0 {
            await Terminal.shared.say("generation \(generation.number) is still needed by \(need(generation))")
        }
        if let crowd = crowd(document) { await Terminal.shared.say(crowd) }
    }

    /// Returns words that state who lost access when a generation was retired, or, if older generations remain, what an
    /// older keyring still opens.
    static func cutOff(by document: KeysDocument) -> String? {
        guard !document.older.isEmpty else { return Receipt.Act.retire.cutsOff }
        let left = document.older.map { String($0.number) }.joined(separator: ", ")
        return "an older copy of the keyring still opens what generation \(left) wraps"
    }

    /// Returns words for the titles that still need a generation, such as `12 titles (3.2 GB)`.
    static func need(_ generation: GenerationReport) -> String {
        "\(Count.of(generation.titles, "title")) (\(ByteCount.text(generation.bytes)))"
    }

    /// Returns the UTC date of a time in ISO 8601 format.
    static func day(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601.year().month().day())
    }
}

/// Formats a keyring's slots for people, with one line for each slot.
enum SlotTable {
    static func text(_ slots: [KeyringSlot]) -> String {
        TextTable.text(slots.map { [String($0.number), $0.method, Terminal.printable($0.label) + cost($0)] })
    }

    private static func cost(_ slot: KeyringSlot) -> String {
        guard let passes = slot.opsLimit, let memory = slot.memLimit else { return "" }
        return " (\(passes) passes over \(memory >> 20) MiB)"
    }
}

/// The messages about unlock methods.
enum UnlockText {
    static let sameDisk =
        "warning: the file that unlocks the keyring is on the same disk as the vault, so it does not protect against "
        + "theft of the disk; keep it on another disk, or use a passphrase"
}

/// The advice about keys that cannot be opened.
enum UnopenedText {
    static let remedy = "run verify --repair, which removes the titles that no key opens"

    /// Returns the message about a number of keys that cannot be opened.
    static func keys(_ count: Int) -> String { "could not open \(Count.of(count, "key")): \(remedy)" }
}

/// The messages about a rewrap, and its exit code.
struct RewrapText: Hashable, Sendable {
    /// The messages, each of which is a sentence.
    let remarks: [String]
    let status: ExitStatus

    init(_ report: RewrapReport) {
        let isNothing = report.keys == 0 && report.unopened == 0
        let done =
            isNothing
            ? "generation \(report.generation) already wraps every key"
            : "moved \(Count.of(report.keys, "key")) to generation \(report.generation)"
        // While any row needs an older generation, the message must not claim that older copies of the keyring open
        // nothing.
        guard report.unopened == 0 else {
            remarks = [
                done,
                UnopenedText.keys(report.unopened),
            ]
            status = .integrity
            return
        }
        let act = Receipt.Act.rewrap
        let cutsOff = report.keys > 0 ? act.cutsOff : nil
        let leaves = report.older.isEmpty ? nil : act.leaves
        let effect = [cutsOff, leaves].compactMap(\.self).joined(separator: "; ")
        remarks = effect.isEmpty ? [done] : [done, effect]
        status = .done
    }
}

/// The messages about a reseal, and its exit code.
struct ResealText: Hashable, Sendable {
    /// The messages, each of which is a sentence.
    let remarks: [String]
    let status: ExitStatus

    init(_ report: ResealReport) {
        var remarks = [
            "resealed \(Count.of(report.resources, "file")) (\(ByteCount.text(report.bytes))) under new keys"
        ]
        if report.damage > 0 {
            remarks.append(
                "\(Count.of(report.damage, "damaged piece")) \(report.damage == 1 ? "is a gap" : "are gaps") now: run "
                    + "verify, and fetch the titles that list does not show as complete")
        }
        if report.problems > 0 {
            remarks.append(
                "\(Count.of(report.problems, "file")) \(report.problems == 1 ? "keeps" : "keep") an older key, which may "
                    + "not open: \(UnopenedText.remedy)")
        }
        self.remarks = remarks
        status = report.damage + report.problems > 0 ? .integrity : .done
    }
}

/// The messages about copies of the vault's folder.
enum CopiesText {
    /// The message that states which keyring opens a copy of the folder after a generation was destroyed.
    static let afterRetirement =
        "copies of the vault's folder from before open only with a keyring of their time, such as one of keys backup"
    /// The message that states which copies of the folder a backup of the keyring opens.
    static let ofBackup =
        "it opens copies of the vault's folder up to the next change of keys, except for what a generation sealed that "
        + "was destroyed before"
}

/// The messages about the destruction of a vault.
enum DestructionText {
    static func sentences(_ report: DestructionReport) -> [String] {
        let what = report.titles > 0 ? Count.of(report.titles, "title") : Count.of(report.resources, "file")
        let done = "destroyed vault \(report.vaultID) and the keys of \(what)"
        guard report.backups > 0 else { return [done] }
        let backups =
            report.backups == 1
            ? "at least 1 backup of its keyring exists: it still opens a copy of the vault's folder"
            : "at least \(report.backups) backups of its keyring exist: each still opens a copy of the vault's folder"
        return [done, backups]
    }
}

/// The messages about a restored keyring.
enum RestoreText {
    /// Returns the sentence that states which generation is current, and what a backup from before a rotation undoes.
    static func generations(_ report: RestoreReport) -> String {
        let current = "generation \(report.current) is current"
        guard !report.lostGenerations.isEmpty else { return current }
        let lost = report.lostGenerations.map(String.init).joined(separator: ", ")
        let isOne = report.lostGenerations.count == 1
        return "\(current) again, and generation \(lost) is lost: the backup is older than the "
            + "\(isOne ? "rotation that created it" : "rotations that created these"); "
            + "run keys rotate if older copies of the keyring must not open what is stored from now on"
    }
}

/// The messages about a shred, and its exit code.
struct ShredText: Hashable, Sendable {
    /// The message; nil if nothing was shredded, because the failures have already been reported.
    let remark: String?
    let status: ExitStatus

    /// - Parameter isQuick: whether the user asked to keep older generations.
    init(_ document: ShredDocument, isQuick: Bool) {
        let problems = document.resources.compactMap(\.problem)
        let failure = problems.first.map { $0.error.map { ExitStatus($0.code) } ?? .failed }
        if problems.count == document.resources.count {
            (remark, status) = (nil, failure ?? .done)
        } else if document.outcome == .destroyed {
            remark =
                "generation \(document.generation) is current and wraps every key; back up the keyring; "
                + CopiesText.afterRetirement
            status = failure ?? .done
        } else if isQuick {
            remark =
                "the generation that wrapped the keys still exists: keys rotate, keys rewrap and keys retire destroy it"
            status = failure ?? .done
        } else {
            remark =
                "not destroyed: a generation that wrapped the keys also wraps a key that does not open, so it stays; "
                + "\(UnopenedText.remedy); then run keys retire for the generation that is retiring"
            status = .integrity
        }
    }
}
