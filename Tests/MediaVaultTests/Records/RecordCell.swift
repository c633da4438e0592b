import Testing
import VaultModel

@testable import MediaVault
@testable import VaultStorage

/// One cell of the matrix: a damage to a value, where, and what is done then.
struct RecordCell: Sendable, CustomStringConvertible {
    enum Place: String, CaseIterable, Sendable {
        case index, backup
        /// A row of the index is damaged, and another row of the same kind in the backup.
        case both
    }

    let kind: RecordKind
    let column: RecordKind.Column?
    let damage: RecordDamage
    let row: Int
    let place: Place
    let act: RecordAct

    var description: String {
        let name = [kind.name, column?.name].compactMap(\.self).joined(separator: ".")
        return "\(name) \(row) \(damage) in \(place), \(act.name)"
    }

    /// Returns all cells, also those that no database accepts.
    static func all(of template: RecordVault) throws -> [RecordCell] {
        try RecordKind.all.flatMap { kind -> [RecordCell] in
            let count = try template.rowCount(of: kind)
            let columns = kind.columns.map(Optional.some)
            let damages = RecordDamage.allCases.flatMap { damage in
                (damage.isOfRow ? [nil] : columns).map { (damage, $0) }
            }
            return damages.flatMap { damage, column in
                Place.allCases.flatMap { place in
                    (0..<max(0, place == .both ? count - 1 : count)).flatMap { row in
                        RecordAct.all.map {
                            RecordCell(kind: kind, column: column, damage: damage, row: row, place: place, act: $0)
                        }
                    }
                }
            }
        }
    }

    /// What was wrong in a cell.
    struct Complaint: Sendable, CustomStringConvertible {
        let cell: RecordCell
        let text: String
        /// What it is about.
        let item: RecordContents.Item?

        var description: String { "\(cell): \(text)\(item.map { ", \($0)" } ?? "")" }
    }

    /// Damages a copy of a vault, does what is to be done, and compares.
    ///
    /// - Returns: nil if the files cannot be damaged like this.
    func run(on template: RecordVault) async throws -> [Complaint]? {
        let copy = try template.copy()
        if place != .backup {
            guard try copy.inflict(damage, on: row, column, of: kind, in: "index.sqlite") else { return nil }
        }
        if place != .index {
            let row = place == .both ? row + 1 : row
            guard try copy.inflict(damage, on: row, column, of: kind, in: "catalog.backup") else { return nil }
        }
        let before = try copy.contents()
        let good = before.index.opened.merging(before.backup.opened) { first, _ in first }
        var complaints: [Complaint] = []
        func complain(_ text: String, _ item: RecordContents.Item? = nil) {
            complaints.append(Complaint(cell: self, text: text, item: item))
        }
        // Where both open, that of the index is the newer one; a rebuild may take either.
        func isGood(_ item: RecordContents.Item, in contents: RecordContents) -> Bool {
            guard let value = contents.opened[item] else { return false }
            return value == good[item] || (act.isRebuild && value == before.backup.opened[item])
        }
        func compare(_ text: String, _ isThere: (RecordContents.Item) -> Bool) {
            for item in good.keys where !act.removes(item, copy) && !isThere(item) { complain(text, item) }
        }

        let refusal = try await act.perform(on: copy)
        let after = try copy.contents()
        compare("lost at once\(refusal.map { " (refused: \($0.code))" } ?? "")") {
            isGood($0, in: after.index) || isGood($0, in: after.backup)
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

    /// Verifies and repairs the vault as a person would who is told what is wrong.
    private func settle(
        _ copy: RecordVault, _ contents: RecordContents, _ complain: (String, RecordContents.Item?) -> Void
    ) async throws {
        var contents = contents
        var vault: Vault
        do {
            vault = try await copy.open()
        } catch let error as VaultError {
            do {
                // By force, because an index that is not this keyring's is not rebuilt otherwise.
                _ = try await Vault.rebuildIndex(copy.place, unlock: copy.unlock, evenIfSound: true)
                contents = try copy.contents().index
                vault = try await copy.open()
            } catch let failure as VaultError {
                return complain("does not open (\(error.code)), nor is rebuilt (\(failure.code))", nil)
            }
        }
        do {
            if !contents.unopened.isEmpty {
                let report = try await VaultFixture.report(of: vault.verify())
                if report.isSound {
                    complain("called sound with \(contents.unopened.sorted { $0.key < $1.key })", nil)
                }
            }
            let report = try await VaultFixture.report(of: vault.verify(VerifyOptions(repairs: true)))
            if !report.isSound { complain("not sound after a repair: \(report.damage)", nil) }
        } catch let error as VaultError {
            complain("verify ended with \(error.code): \(error.message)", nil)
        }
        await vault.close()
    }
}
