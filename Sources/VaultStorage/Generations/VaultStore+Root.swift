package import VaultCrypto

extension VaultStore {
    /// Makes a new root key, a new token key and a new generation, in one write of the keyring.
    ///
    /// - Parameters:
    ///   - secrets: what opens the slots that stay.
    ///   - dropsOthers: whether slots that none of them opens go.
    /// - Returns: the number of the new generation.
    /// - Throws: as ``KeyringEdit/renewRoot(openedBy:droppingOthers:now:)`` and ``changeKeyring(at:preparing:_:)``.
    package func renewRoot(
        openedBy secrets: [SharedSecret], droppingOthers dropsOthers: Bool, at place: KeyringPlace
    ) throws -> Int {
        var number = 0
        try changeKeyring(at: place, preparing: { try index.addGeneration(number) }) { edit in
            number = try edit.renewRoot(openedBy: secrets, droppingOthers: dropsOthers, now: now())
        }
        noteChange()
        return number
    }
}
