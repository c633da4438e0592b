internal import VaultModel

/// Makes the keyring of a new vault.
package enum KeyringMaker {
    /// A keyring with one slot, one locator and generation 1.
    ///
    /// - Parameters:
    ///   - secret: what will unlock it.
    ///   - method: how that secret is brought; `.passphrase` exactly for a passphrase.
    ///   - cost: the cost of a passphrase; nil for the usual one.
    ///   - now: seconds since 1970.
    /// - Returns: the bytes of the keyring file.
    package static func make(
        with secret: borrowing UnlockSecret, method: UnlockMethod, label: String, cost: Argon2id.Cost? = nil, now: Int64
    ) throws -> [UInt8] {
        let vaultID: VaultID = try Fresh.identifier("vault id")
        let root = SharedKey(try Fresh.key("root key"))
        let slot = try KeyringDocument.Slot(
            number: 1, label: label, method: method, sealing: root.secret, of: vaultID, for: secret, cost: cost)
        func seal(_ key: borrowing SecretKey, _ role: KeyringDocument.Role, _ number: Int64 = 0) throws -> [UInt8] {
            try SealedValue.seal(
                key, key: root.secret,
                associatedData: try KeyringDocument.associatedData(role, vaultID: vaultID, number: number))
        }
        let document = KeyringDocument(
            vaultID: vaultID, revision: 1, slots: [slot],
            locators: [.init(number: 1, key: try seal(Fresh.key("locator key"), .locator, 1))],
            tokenKey: try seal(Fresh.key("token key"), .token), tokenEpoch: 1,
            receiptKey: try seal(Fresh.key("receipt seed"), .receipt), receiptSequence: 0,
            generations: [
                .init(
                    number: 1, created: max(0, now), key: try seal(Fresh.key("generation key"), .generation, 1),
                    backups: 0)
            ],
            current: 1)
        return try KeyringEdit(document: document, rootKey: root).finished().bytes
    }
}
