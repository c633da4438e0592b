internal import VaultModel

extension KeyringEdit {
    /// Puts a new root key, token key and key for receipts in the place of the old ones, seals everything else again,
    /// and adds a generation: the old root key opens nothing of the document any more, and signs nothing.
    ///
    /// - Parameters:
    ///   - secrets: what opens the slots that stay. A passphrase takes most of a second for each passphrase slot.
    ///   - dropsOthers: whether slots that none of them opens go.
    ///   - now: seconds since 1970.
    ///   - taken: numbers that generations had before, though a restored keyring may not know them.
    /// - Returns: the number of the new generation.
    /// - Throws: ``VaultError`` with code `wrongKey` where a secret opens no slot, `invalidArgument` where a slot would go
    ///   that may not.
    package mutating func renewRoot(
        openedBy secrets: [SharedSecret], droppingOthers dropsOthers: Bool, now: Int64, avoiding taken: Set<Int> = []
    ) throws -> Int {
        let root = SharedKey(try Fresh.key("root key"))
        let slots = try OpenedSlots(of: document, by: secrets)
        try slots.check(droppingOthers: dropsOthers)
        document.slots = try reseal(slots, root.secret)
        let locators = try document.locators.map { try open($0.key, .locator, $0.number) }
        let generations = try document.generations.map { generation in
            try generation.key.map { try open($0, .generation, generation.number) }
        }
        rootKey = root
        for (index, key) in locators.enumerated() {
            document.locators[index].key = try seal(key.secret, .locator, document.locators[index].number)
        }
        document.receiptKey = try seal(Fresh.key("receipt seed"), .receipt)
        for (index, key) in generations.enumerated() {
            guard let key else { continue }
            document.generations[index].key = try seal(key.secret, .generation, document.generations[index].number)
        }
        document.tokenKey = try seal(Fresh.key("token key"), .token)
        return try addGeneration(now: now, avoiding: taken)
    }

    /// The slots that stay, with another root key in them.
    private func reseal(_ slots: OpenedSlots, _ root: borrowing SecretKey) throws -> [KeyringDocument.Slot] {
        var staying: [KeyringDocument.Slot] = []
        for (slot, unlockKey) in slots.staying {
            var slot = slot
            slot.rootKey = try SealedValue.seal(
                root, key: unlockKey.secret,
                associatedData: try KeyringDocument.associatedData(
                    .slot, vaultID: document.vaultID, number: slot.number))
            staying.append(slot)
        }
        return staying
    }
}
