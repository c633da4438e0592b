import Testing
import VaultModel

@testable import MediaVault
@testable import VaultStorage

/// One cell of the matrix: damage to a value, its place, and the act that follows.
struct RecordCell: Sendable, CustomStringConvertible {
    enum Place: String, CaseIterable, Sendable {
        case index, backup
        /// A row of the index is damaged, and another row of the same kind in the backup.
        case both
        /// The same row is damaged in the index and in the newest backup, so only the previous backup opens it.
        case allButFormer
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

    /// Whether the previous backup must restore what is damaged. It restores nothing that has no row by now, because it
    /// knows of no deletion, and nothing that grants access.
    ///
    /// If the settings in both are of a retired generation, the vault is a copy from before the retirement. It is
    /// refused, and nothing counts as lost.
    var isOwed: Bool {
        guard place == .allButFormer else { return true }
        if kind.name == "vault", damage == .retired { return false }
        return !damage.isOfRow && !CatalogMerge.rights.contains(kind.name)
            && !(column.map { kind.key.contains($0.name) } ?? false)
    }

    /// Returns all cells, including those that no database accepts.
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
                        }.filter(\.isOwed)
                    }
                }
            }
        }
    }

    /// Damages a copy of a vault.
    ///
    /// - Returns: whether the files can be damaged like this.
    func inflict(on copy: RecordVault) throws -> Bool {
        if place != .backup {
            guard try copy.inflict(damage, on: row, column, of: kind, in: "index.sqlite") else { return false }
        }
        guard place != .index else { return true }
        let row = place == .both ? row + 1 : row
        return try copy.inflict(damage, on: row, column, of: kind, in: "catalog.backup")
    }

    /// What the cell damages, so that cells that damage different things can share a copy; nil if the whole vault
    /// depends on it.
    var parts: Set<String>? {
        switch kind.name {
        case "vault", "generation": nil
        // The rows of one title, or of one pack, open together or not at all.
        case "resource", "resourceKey", "representation":
            place == .both ? ["resource \(row)", "resource \(row + 1)"] : ["resource \(row)"]
        default: [kind.name]
        }
    }
}
