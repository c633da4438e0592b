internal import VaultModel

extension Keyring {
    /// What of the document of a keyring is needed to judge whether it fits a vault.
    package struct Holdings: Hashable, Sendable {
        package let revision: Int64
        package let current: Int
        package let locators: Set<Int>
        /// The generations whose keys it holds.
        package let active: Set<Int>
    }

    /// What it holds.
    package var holdings: Holdings {
        let keys = keys
        return Holdings(
            revision: keys.revision, current: keys.current, locators: Set(keys.locators.keys),
            active: Set(keys.generations.keys))
    }

    /// The bytes of the keyring's file that a backup becomes.
    ///
    /// - Parameters:
    ///   - file: the backup, which this was opened from.
    ///   - lastRevision: the highest that the vault has seen.
    ///   - retired: generations whose keys do not come back.
    ///   - current: the generation that new resources use; not a retired one.
    ///   - newer: the keyring's file that is replaced, where it can be read: what it counted goes on.
    /// - Throws: as ``KeyringReader``.
    package func restored(
        _ file: [UInt8], after lastRevision: Int64, without retired: Set<Int>, current: Int, replacing newer: [UInt8]?
    ) throws -> [UInt8] {
        var edit = try editing(file)
        edit.restore(after: lastRevision, without: retired, current: current)
        // Of a file that this root key did not write nothing is believed.
        if let newer = newer.flatMap({ try? document(of: $0) }) {
            edit.document.receiptSequence = max(edit.document.receiptSequence, newer.receiptSequence)
        }
        return try edit.finished().bytes
    }

    /// The bytes of a restored keyring's file with the slots that the file before it has; the one that opened the backup is
    /// beside them.
    ///
    /// - Parameters:
    ///   - newer: the file that is replaced.
    ///   - secret: what opened the backup.
    /// - Throws: ``VaultError`` with code `inUse` where there are too many; as ``KeyringReader`` where a file is not
    ///   this keyring's.
    package func keepingSlots(
        of newer: [UInt8], in restored: [UInt8], openedBy secret: borrowing UnlockSecret
    ) throws -> [UInt8] {
        var edit = try editing(restored)
        let own = try edit.slot(unlockedSlot)
        edit.document.slots = try document(of: newer).slots
        if try !edit.document.slots.contains(where: { try $0.opens(in: edit.document.vaultID, with: secret) }) {
            guard edit.document.slots.count < KeyringDocument.mostSlots else {
                throw VaultError(
                    .inUse,
                    "the keyring that is replaced has \(KeyringDocument.mostSlots) slots, the most there can be, and "
                        + "there is no place beside them for the backup's; restore it without keeping them")
            }
            try edit.add(own, as: edit.freeSlotNumber, openedBy: secret)
        }
        return try edit.finished().bytes
    }

    /// Whether the file is this keyring's, and how new it is then; nil where it is not, or nobody can say.
    package func revision(of file: [UInt8]) -> Int64? { (try? document(of: file))?.revision }

    /// The bytes of a keyring's file after an order, at the revision that it has.
    ///
    /// - Throws: as ``KeyringEdit/carryOut(_:)``, and as ``KeyringReader`` where the file is not this keyring's.
    package func carryingOut(_ order: KeyringOrder, in file: [UInt8]) throws -> [UInt8] {
        var edit = try editing(file)
        try edit.carryOut(order)
        return try edit.finished().bytes
    }
}
