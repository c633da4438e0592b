internal import VaultModel

/// The slots of a keyring, by whether what is at hand opens them: a new root key can be sealed for no others.
struct OpenedSlots {
    /// Those that open, in the keyring's order, each with its unlock key.
    let staying: [(slot: KeyringDocument.Slot, unlockKey: SharedKey)]
    /// Those that nothing at hand opens.
    let leftOut: [KeyringDocument.Slot]

    /// Tries secrets on the slots of a document. A passphrase takes most of a second for each passphrase slot.
    ///
    /// - Throws: ``VaultError`` with code `wrongKey` where a secret opens no slot, or there is none.
    init(of document: KeyringDocument, by secrets: [SharedSecret]) throws {
        var staying: [(slot: KeyringDocument.Slot, unlockKey: SharedKey)] = []
        var leftOut: [KeyringDocument.Slot] = []
        var used: Set<Int> = []
        for slot in document.slots {
            let data = try KeyringDocument.associatedData(.slot, vaultID: document.vaultID, number: slot.number)
            var opening: SharedKey?
            // The same secret may be given twice, as a file by two names: each is to open a slot, not each another.
            for (index, shared) in secrets.enumerated() where opening == nil || !used.contains(index) {
                guard let unlockKey = try shared.secret.unlockKey(for: slot),
                    try SealedValue.openKey(slot.rootKey, key: unlockKey, associatedData: data) != nil
                else { continue }
                opening = SharedKey(unlockKey)
                used.insert(index)
            }
            if let opening { staying.append((slot, opening)) } else { leftOut.append(slot) }
        }
        guard !staying.isEmpty, used.count == secrets.count else {
            throw VaultError(
                .wrongKey, "a key or passphrase that was given opens no slot of the keyring; give those that do")
        }
        self.staying = staying
        self.leftOut = leftOut
    }

    /// Checks that no slot is locked out against anybody's will.
    ///
    /// - Parameters:
    ///   - dropsOthers: whether slots that nothing at hand opens are to go.
    ///   - hasOtherKeys: whether somebody else brings keys of 32 bytes, too, which open no passphrase slot.
    /// - Throws: ``VaultError`` with code `invalidArgument`, which names the slots.
    func check(droppingOthers dropsOthers: Bool, besideOtherKeys hasOtherKeys: Bool = false) throws {
        let lost = dropsOthers ? [] : leftOut.filter { !hasOtherKeys || $0.passphrase != nil }
        guard !lost.isEmpty else { return }
        let names = lost.map { "\($0.number) (\($0.label), \($0.method.rawValue))" }.joined(separator: ", ")
        throw VaultError(
            .invalidArgument,
            "a new root key would lock these slots out: \(names); give what unlocks them, or drop them with --drop-slots"
        )
    }
}

extension Keyring {
    /// Tries whether the root key could be made anew once an order is carried out, as
    /// ``KeyringEdit/renewRoot(openedBy:droppingOthers:now:avoiding:)`` would have it. Nothing changes.
    ///
    /// - Parameters:
    ///   - file: the keyring's file as it is now.
    ///   - secrets: what opens the slots that stay. A passphrase takes most of a second for each passphrase slot.
    ///   - dropsOthers: whether slots that none of them opens go.
    ///   - hasOtherKeys: whether the owner has keys of 32 bytes, too, that are not at hand here.
    /// - Throws: ``VaultError`` with code `wrongKey` where a secret opens no slot, `invalidArgument` where a slot would go
    ///   that may not; as ``KeyringReader`` where the file is not this keyring's.
    package func tryNewRoot(
        after order: KeyringOrder, in file: [UInt8], openedBy secrets: [SharedSecret], droppingOthers dropsOthers: Bool,
        besideOtherKeys hasOtherKeys: Bool
    ) throws {
        var trial = try editing(file)
        try trial.carryOut(order)
        try OpenedSlots(of: trial.document, by: secrets)
            .check(droppingOthers: dropsOthers, besideOtherKeys: hasOtherKeys)
    }
}

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
