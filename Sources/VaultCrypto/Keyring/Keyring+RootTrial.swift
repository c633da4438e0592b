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
