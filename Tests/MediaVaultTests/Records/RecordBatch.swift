import Testing
import VaultModel

@testable import MediaVault
@testable import VaultStorage

/// Cells with the same act, none of which damages what another does. They are tried in one copy of a vault.
struct RecordBatch: Sendable {
    /// The problem that was found.
    struct Complaint: Sendable, CustomStringConvertible {
        let cells: [RecordCell]
        let text: String
        /// The cell concerned.
        let item: RecordContents.Item?

        var description: String {
            let cells = cells.map { "\($0)" }.joined(separator: " + ")
            return "\(cells): \(text)\(item.map { ", \($0)" } ?? "")"
        }
    }

    let act: RecordAct
    private(set) var cells: [RecordCell]
    private var parts: Set<String>

    private init(_ cell: RecordCell) { (act, cells, parts) = (cell.act, [cell], cell.parts ?? []) }

    /// Groups cells, keeping their order.
    static func make(of cells: some Sequence<RecordCell>) -> [RecordBatch] {
        var (done, growing): ([RecordBatch], [String: [RecordBatch]]) = ([], [:])
        for cell in cells {
            guard let parts = cell.parts else {
                done.append(RecordBatch(cell))
                continue
            }
            var batches = growing.removeValue(forKey: cell.act.name) ?? []
            if let place = batches.firstIndex(where: { $0.parts.isDisjoint(with: parts) }) {
                batches[place].cells.append(cell)
                batches[place].parts.formUnion(parts)
            } else {
                batches.append(RecordBatch(cell))
            }
            growing[cell.act.name] = batches
        }
        return done + growing.sorted { $0.key < $1.key }.flatMap(\.value)
    }

    /// Damages a copy of a vault, performs the act, and compares. If something is wrong, each cell is tried again
    /// alone, to find the culprit.
    ///
    /// - Returns: the number of cells that can exist, and the problems found.
    func run(on template: RecordVault) async throws -> (count: Int, complaints: [Complaint]) {
        let copy = try template.copy()
        let possible = try cells.filter { try $0.inflict(on: copy) }
        guard !possible.isEmpty else { return (0, []) }
        let complaints = try await compare(copy, possible)
        guard !complaints.isEmpty, cells.count > 1 else { return (possible.count, complaints) }
        var alone: [Complaint] = []
        for cell in possible { alone += try await RecordBatch(cell).run(on: template).complaints }
        return (possible.count, alone.isEmpty ? complaints : alone)
    }

    private func compare(_ copy: RecordVault, _ cells: [RecordCell]) async throws -> [Complaint] {
        let before = try copy.contents()
        var good = before.index.opened.merging(before.backup.opened) { first, _ in first }
        var owed: [RecordContents.Item: [UInt8]] = [:]
        if cells.contains(where: { $0.place == .allButFormer }) {
            owed = before.former.opened.filter { !CatalogMerge.rights.contains($0.key.kind) && good[$0.key] == nil }
            good.merge(owed) { first, _ in first }
        }
        var complaints: [Complaint] = []
        func complain(_ text: String, _ item: RecordContents.Item? = nil) {
            complaints.append(Complaint(cells: cells, text: text, item: item))
        }
        // If both open, the index's value is newer; a rebuild may take either.
        func isGood(_ item: RecordContents.Item, in contents: RecordContents) -> Bool {
            guard let value = contents.opened[item] else { return false }
            // What the previous backup restores may meet newer metadata that were kept.
            if let older = owed[item], RecordContents.unmarked(value) == RecordContents.unmarked(older) { return true }
            return value == good[item] || (act.isRebuild && value == before.backup.opened[item])
        }
        func compare(_ text: String, _ isThere: (RecordContents.Item) -> Bool) {
            for item in good.keys where !act.removes(item, copy) && !isThere(item) { complain(text, item) }
        }

        let refusal = try await act.perform(on: copy)
        let after = try copy.contents()
        compare("lost at once\(refusal.map { " (refused: \($0.code))" } ?? "")") {
            isGood($0, in: after.index) || isGood($0, in: after.backup) || isGood($0, in: after.former)
        }
        // What opens in the index needs no repair.
        let isDone =
            after.index.unopened.isEmpty
            && good.keys.allSatisfy { act.removes($0, copy) || isGood($0, in: after.index) }
        guard !isDone else { return complaints }
        try await settle(copy, after.index, complain)
        let end = try copy.contents()
        compare("lost in the end") { isGood($0, in: end.index) }
        for (table, count) in end.index.unopened { complain("\(count) of \(table) not open in the end") }
        return complaints
    }

    /// Verifies and repairs the vault as a user would who reads the reports.
    private func settle(
        _ copy: RecordVault, _ contents: RecordContents, _ complain: (String, RecordContents.Item?) -> Void
    ) async throws {
        var contents = contents
        var vault: Vault
        do {
            vault = try await copy.open()
        } catch let error as VaultError {
            do {
                // Forced, because otherwise an index that belongs to another keyring is not rebuilt.
                _ = try await Vault.rebuildIndex(copy.place, unlock: copy.unlock, evenIfSound: true)
                contents = try copy.contents().index
                vault = try await copy.open()
            } catch let failure as VaultError {
                return complain("does not open (\(error.code)), nor is rebuilt (\(failure.code))", nil)
            }
        }
        do {
            if !contents.unopened.isEmpty {
                let report = try await VaultFixture.report(of: vault.checks.verify())
                if report.isSound {
                    complain("called sound with \(contents.unopened.sorted { $0.key < $1.key })", nil)
                }
            }
            let report = try await VaultFixture.report(of: vault.checks.verify(VerifyOptions(repairs: true)))
            if !report.isSound {
                let problems = report.resources.compactMap(\.problem) + report.records.compactMap(\.problem)
                complain("not sound after a repair: \(report.damage), \(problems)", nil)
            }
        } catch let error as VaultError {
            complain("verify ended with \(error.code): \(error.message)", nil)
        }
        await vault.close()
    }
}
