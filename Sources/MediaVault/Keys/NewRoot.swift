import VaultCrypto

/// A new root key that is to follow an order: what tells beforehand whether it can be made.
package struct NewRoot: Sendable {
    private let unlocks: [Unlock]
    private let hasOtherKeys: Bool
    private let dropsOtherSlots: Bool

    /// - Parameters:
    ///   - unlocks: what opens slots that stay, read in this process.
    ///   - hasOtherKeys: whether the owner has keys of 32 bytes, too, that this process cannot read.
    ///   - dropsOtherSlots: whether slots that nothing opens are to go.
    package init(
        openedBy unlocks: [Unlock], besideOtherKeys hasOtherKeys: Bool, droppingOtherSlots dropsOtherSlots: Bool
    ) {
        self.unlocks = unlocks
        self.hasOtherKeys = hasOtherKeys
        self.dropsOtherSlots = dropsOtherSlots
    }

    /// Tries whether it can be made once an order is carried out. Blocks.
    ///
    /// - Parameter new: what opens the slot that the order brings.
    /// - Throws: ``VaultError`` with code `wrongKey` where a secret opens no slot, `invalidArgument` where a slot would be
    ///   locked out that may not; those of reading the secrets.
    func check(after order: KeyringOrder, in file: [UInt8], of keyring: Keyring, new: SharedSecret? = nil) throws {
        let secrets = try unlocks.map { SharedSecret(try $0.secret()) }
        try keyring.tryNewRoot(
            after: order, in: file, openedBy: secrets + [new].compactMap(\.self), droppingOthers: dropsOtherSlots,
            besideOtherKeys: hasOtherKeys)
    }
}
