internal import VaultModel

extension KeyringEdit {
    /// Puts a new root key and a new token key in the place of the old ones, seals everything else anew, and adds a
    /// generation: the old root key opens nothing of the document any more.
    ///
    /// - Parameters:
    ///   - secrets: what opens the slots that stay. A passphrase takes most of a second for each passphrase slot.
    ///   - dropsOthers: whether slots that none of them opens go.
    ///   - now: seconds since 1970.
    ///   - floor: a number that a generation had before, though a restored keyring may not know it.
    /// - Returns: the number of the new generation.
    /// - Throws: ``VaultError`` with code `wrongKey` where a secret opens no slot, `invalidArgument` where a slot would go
    ///   that may not.
    package mutating func renewRoot(
        openedBy secrets: [SharedSecret], droppingOthers dropsOthers: Bool, now: Int64, above floor: Int = 0
    ) throws -> Int {
        let root = SharedKey(try Fresh.key("root key"))
        document.slots = try reseal(document.slots, root.secret, secrets, droppingOthers: dropsOthers)
        let locators = try document.locators.map { try open($0.key, .locator, $0.number) }
        let receipt = try open(document.receiptKey, .receipt)
        let generations = try document.generations.map { generation in
            try generation.key.map { try open($0, .generation, generation.number) }
        }
        rootKey = root
        for (index, key) in locators.enumerated() {
            document.locators[index].key = try seal(key.secret, .locator, document.locators[index].number)
        }
        document.receiptKey = try seal(receipt.secret, .receipt)
        for (index, key) in generations.enumerated() {
            guard let key else { continue }
            document.generations[index].key = try seal(key.secret, .generation, document.generations[index].number)
        }
        document.tokenKey = try seal(Fresh.key("token key"), .token)
        return try addGeneration(now: now, above: floor)
    }

    /// The slots that stay, with another root key in them.
    private func reseal(
        _ slots: [KeyringDocument.Slot], _ root: borrowing SecretKey, _ secrets: [SharedSecret],
        droppingOthers dropsOthers: Bool
    ) throws -> [KeyringDocument.Slot] {
        var staying: [KeyringDocument.Slot] = []
        var others: [KeyringDocument.Slot] = []
        var used: Set<Int> = []
        for slot in slots {
            let data = KeyringDocument.associatedData(.slot, vaultID: document.vaultID, number: slot.number)
            var sealed: [UInt8]?
            // The same secret may be given twice, as a file by two names: each is to open a slot, not each another.
            for (index, shared) in secrets.enumerated() where sealed == nil || !used.contains(index) {
                guard let unlockKey = try shared.secret.unlockKey(for: slot),
                    try SealedValue.openKey(slot.rootKey, key: unlockKey, associatedData: data) != nil
                else { continue }
                sealed = try sealed ?? SealedValue.seal(root, key: unlockKey, associatedData: data)
                used.insert(index)
            }
            guard let sealed else {
                others.append(slot)
                continue
            }
            var slot = slot
            slot.rootKey = sealed
            staying.append(slot)
        }
        guard !staying.isEmpty, used.count == secrets.count else {
            throw VaultError(
                .wrongKey, "a key or passphrase that was given opens no slot of the keyring; give those that do")
        }
        guard dropsOthers || others.isEmpty else { throw Self.slotsLeftOut(others) }
        return staying
    }

    private static func slotsLeftOut(_ slots: [KeyringDocument.Slot]) -> VaultError {
        let names = slots.map { "\($0.number) (\($0.label), \($0.method.rawValue))" }.joined(separator: ", ")
        return VaultError(
            .invalidArgument,
            "a new root key would lock these slots out: \(names); give what unlocks them, or drop them with --drop-slots"
        )
    }
}
