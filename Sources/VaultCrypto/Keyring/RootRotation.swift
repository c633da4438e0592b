internal import VaultModel

/// A keyring's slots, divided by whether the available secrets open them.
///
/// A new root key can be sealed only for the slots that a secret opens.
struct OpenedSlots {
    /// The slots that a secret opens, in the keyring's order, each with its unlock key.
    let staying: [(slot: KeyringDocument.Slot, unlockKey: SharedKey)]
    /// The slots that no secret opens.
    let leftOut: [KeyringDocument.Slot]

    /// Tries secrets on a document's slots. Trying a passphrase takes most of a second for each passphrase slot.
    ///
    /// - Throws: ``VaultError`` with code `wrongKey` if any of the secrets opens no slot, or if there are no secrets.
    init(of document: KeyringDocument, by secrets: [SharedSecret]) throws {
        var staying: [(slot: KeyringDocument.Slot, unlockKey: SharedKey)] = []
        var leftOut: [KeyringDocument.Slot] = []
        var used: Set<Int> = []
        for slot in document.slots {
            let data = try KeyringDocument.associatedData(.slot, vaultID: document.vaultID, number: slot.number)
            var opening: SharedKey?
            // The same secret may be given twice, such as one key file under two paths. Both copies must count as
            // opening the slot.
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
                .wrongKey, "one of the given keys or passphrases opens no slot of the keyring; give only those that do")
        }
        self.staying = staying
        self.leftOut = leftOut
    }

    /// Checks that no slot would be lost without the caller's consent.
    ///
    /// - Parameters:
    ///   - dropsOthers: whether to remove the slots that no secret opens.
    ///   - hasOtherKeys: whether the owner has further 32-byte keys. They may open any slot except a passphrase slot.
    /// - Throws: ``VaultError`` with code `invalidArgument`, whose message lists the slots that would be lost.
    func check(droppingOthers dropsOthers: Bool, ownerHasOtherKeys hasOtherKeys: Bool = false) throws {
        let lost = dropsOthers ? [] : leftOut.filter { !hasOtherKeys || $0.passphrase != nil }
        guard !lost.isEmpty else { return }
        let names = lost.map { "\($0.number) (\($0.label), \($0.method.rawValue))" }.joined(separator: ", ")
        throw VaultError(
            .invalidArgument,
            "a new root key would lock out \(lost.count == 1 ? "slot" : "slots") \(names); give what unlocks "
                + (lost.count == 1 ? "it, or drop it" : "them, or drop them"),
            hint: .dropSlots)
    }
}

extension Keyring {
    /// Checks whether the root key could be renewed after an order has been carried out, without changing anything.
    ///
    /// ``KeyringEdit/renewRoot(openedBy:droppingOthers:now:avoiding:)`` performs the renewal itself.
    ///
    /// - Parameters:
    ///   - file: the current keyring file.
    ///   - secrets: the secrets of the slots to keep. Trying a passphrase takes most of a second for each passphrase
    ///     slot.
    ///   - dropsOthers: whether to remove the slots that no secret opens.
    ///   - hasOtherKeys: whether the owner has further 32-byte keys that are not available here.
    /// - Throws: ``VaultError`` with code `wrongKey` if a secret opens no slot, or `invalidArgument` if a slot that may
    ///   not be removed would be lost; as ``KeyringEdit/carryOut(_:)``; as ``KeyringReader`` if the file does not
    ///   belong to this keyring.
    package func checkRootRenewal(
        after order: KeyringOrder, in file: [UInt8], openedBy secrets: [SharedSecret], droppingOthers dropsOthers: Bool,
        ownerHasOtherKeys hasOtherKeys: Bool
    ) throws {
        var trial = try editing(file)
        try trial.carryOut(order)
        try OpenedSlots(of: trial.document, by: secrets)
            .check(droppingOthers: dropsOthers, ownerHasOtherKeys: hasOtherKeys)
    }
}

extension Keyring {
    /// The facts that decide whether a keyring fits a vault.
    package struct Holdings: Hashable, Sendable {
        package let revision: Int64
        package let current: Int
        package let locators: Set<Int>
        /// The generations whose keys the keyring holds.
        package let active: Set<Int>
    }

    /// The facts that decide whether this keyring fits a vault.
    package var holdings: Holdings {
        let keys = keys
        return Holdings(
            revision: keys.revision, current: keys.current, locators: Set(keys.locators.keys),
            active: Set(keys.generations.keys))
    }

    /// Returns the bytes of the keyring file that restoring a backup produces.
    ///
    /// - Parameters:
    ///   - file: the backup, from which this keyring was opened.
    ///   - lastRevision: the highest revision that the vault has seen.
    ///   - retired: the generations whose keys are not restored.
    ///   - current: the generation that new resources use. It must not be a retired one.
    ///   - newer: the keyring file to replace, if it can be read; receipt numbering continues from it.
    ///   - closesFormerRecords: whether the keyring stops opening records of format versions up to 5, because their key
    ///     would also open records that a retirement was meant to destroy.
    /// - Throws: as ``KeyringReader``.
    package func restored(
        _ file: [UInt8], after lastRevision: Int64, without retired: Set<Int>, current: Int, replacing newer: [UInt8]?,
        closesFormerRecords: Bool = false
    ) throws -> [UInt8] {
        var edit = try editing(file)
        if closesFormerRecords { edit.document.sealsRecordsByGeneration = true }
        edit.restore(after: lastRevision, without: retired, current: current)
        // The file to be replaced is trusted only if it was written under this root key.
        if let newer = newer.flatMap({ try? document(of: $0) }) {
            edit.document.receiptSequence = max(edit.document.receiptSequence, newer.receiptSequence)
            if newer.sealsRecordsByGeneration { edit.document.sealsRecordsByGeneration = true }
        }
        return try edit.finished().bytes
    }

    /// Returns the bytes of a restored keyring file that keeps the slots of the file that it replaces.
    ///
    /// If the secret opens none of those slots, the slot that opened the backup is added.
    ///
    /// - Parameters:
    ///   - newer: the keyring file to replace.
    ///   - secret: the secret that opened the backup.
    /// - Throws: ``VaultError`` with code `inUse` if there are too many slots; as ``KeyringReader`` if a file does not
    ///   belong to this keyring.
    package func keepingSlots(
        of newer: [UInt8], in restored: [UInt8], openedBy secret: borrowing UnlockSecret
    ) throws -> [UInt8] {
        var edit = try editing(restored)
        let own = try edit.slot(unlockedSlot)
        edit.document.slots = try document(of: newer).slots
        if try !edit.document.slots.contains(where: { try $0.opens(in: edit.document.vaultID, with: secret) }) {
            guard edit.document.slots.count < KeyringDocument.maxSlots else {
                throw VaultError(
                    .inUse,
                    "the keyring to be replaced has \(KeyringDocument.maxSlots) slots, which is the maximum, so the "
                        + "backup's slot cannot be added; restore the backup without keeping those slots",
                    hint: .dropSlots)
            }
            try edit.add(own, as: edit.freeSlotNumber, openedBy: secret)
        }
        return try edit.finished().bytes
    }

    /// Returns the revision of a keyring file; nil if the file does not belong to this keyring or cannot be
    /// authenticated.
    package func revision(of file: [UInt8]) -> Int64? { (try? document(of: file))?.revision }

    /// Returns the bytes of a keyring file with an order carried out, at the same revision.
    ///
    /// - Throws: as ``KeyringEdit/carryOut(_:)``; as ``KeyringReader`` if the file does not belong to this keyring.
    package func carryingOut(_ order: KeyringOrder, in file: [UInt8]) throws -> [UInt8] {
        var edit = try editing(file)
        try edit.carryOut(order)
        return try edit.finished().bytes
    }
}
