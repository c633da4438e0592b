internal import VaultModel

extension KeyringEdit {
    /// Does what an order says.
    ///
    /// - Throws: ``VaultError`` with code `wrongKey` where it was made without this keyring's root key, `olderKeyring`
    ///   where the keyring has changed since, `invalidArgument` where it cannot be.
    package mutating func carryOut(_ order: KeyringOrder) throws {
        guard order.isProved(by: rootKey.secret) else {
            throw VaultError(
                .wrongKey, "the order was not made with the vault's own keyring; name the keyring that its owner uses")
        }
        guard order.revision == document.revision else {
            throw VaultError(.olderKeyring, "the keyring has changed since the order was made; run the command again")
        }
        switch (order.act, order.slot, order.number) {
        case (.add, let slot?, nil): try add(Self.read(slot))
        case (.replace, let slot?, nil): try replace(with: Self.read(slot))
        case (.remove, nil, let number?): try removeSlot(number)
        case (.backup, nil, nil): countBackup()
        default: throw Self.unusable
        }
    }

    private static func read(_ slot: KeyringOrder.Slot) throws -> KeyringDocument.Slot {
        guard let slot = try? KeyringDocument.Slot(reading: slot.object) else { throw unusable }
        return slot
    }

    private static var unusable: VaultError {
        VaultError(.invalidArgument, "the order says nothing that can be done to a keyring; correct it")
    }
}
