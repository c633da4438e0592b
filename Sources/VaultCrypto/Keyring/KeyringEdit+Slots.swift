internal import VaultModel

/// The ways to unlock: what adds, replaces and removes one.
extension KeyringEdit {
    /// Adds a slot under a number that none has.
    ///
    /// - Throws: ``VaultError`` with code `inUse` where there are 16 slots, `invalidArgument` where one has the number.
    package mutating func add(_ slot: KeyringDocument.Slot) throws {
        try slot.checkLabel()
        guard document.slots.count < KeyringDocument.mostSlots else {
            throw VaultError(
                .inUse,
                "the keyring has \(KeyringDocument.mostSlots) slots, the most there can be; keys slot list names them, "
                    + "keys slot remove takes one away")
        }
        guard !document.slots.contains(where: { $0.number == slot.number }) else {
            throw VaultError(.invalidArgument, "slot \(slot.number) is taken; run the command again")
        }
        document.slots.append(slot)
    }

    /// Adds a slot of another file of this keyring, under a number of its own here.
    ///
    /// - Throws: as ``add(_:)``; ``VaultError`` with code `wrongKey` where the secret is none for it.
    mutating func add(
        _ slot: KeyringDocument.Slot, as number: Int64, openedBy secret: borrowing UnlockSecret
    ) throws {
        var slot = slot
        guard let unlockKey = try secret.unlockKey(for: slot) else {
            throw VaultError(.wrongKey, "what was given is not what opens slot \(slot.number) of the backup")
        }
        slot.number = number
        slot.rootKey = try SealedValue.seal(
            rootKey.secret, key: unlockKey,
            associatedData: KeyringDocument.associatedData(.slot, vaultID: document.vaultID, number: number))
        try add(slot)
    }

    /// Puts a slot in the place of the one with its number: what opened that one opens it no more.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` where there is none.
    package mutating func replace(with slot: KeyringDocument.Slot) throws {
        try slot.checkLabel()
        document.slots[try index(ofSlot: slot.number)] = slot
    }

    /// Removes a slot.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` where there is none, or it is the last: nothing would open
    ///   the keyring then.
    package mutating func removeSlot(_ number: Int64) throws {
        let index = try index(ofSlot: number)
        guard document.slots.count > 1 else {
            throw VaultError(
                .invalidArgument, "slot \(number) is the only one, and nothing would open the vault; add another first")
        }
        document.slots.remove(at: index)
    }

    /// The number for a slot that is added: past the highest.
    var freeSlotNumber: Int64 { (document.slots.map(\.number).max() ?? 0) + 1 }

    /// The slot with a number.
    func slot(_ number: Int64) throws -> KeyringDocument.Slot { document.slots[try index(ofSlot: number)] }

    private func index(ofSlot number: Int64) throws -> Int {
        guard let index = document.slots.firstIndex(where: { $0.number == number }) else {
            throw VaultError(.invalidArgument, "the keyring has no slot \(number); keys slot list names those it has")
        }
        return index
    }
}
