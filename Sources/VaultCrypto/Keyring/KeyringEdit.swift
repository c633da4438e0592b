/// A keyring on its way from one state of its file to the next. What an act does to it stands in an extension for that act.
package struct KeyringEdit {
    /// What the file will say; keys in it are sealed.
    package var document: KeyringDocument
    /// What seals them.
    package var rootKey: SharedKey

    /// Revokes every token made so far, here and for whoever unlocks the file from then on.
    package mutating func revokeTokens() { document.tokenEpoch += 1 }

    /// Seals a key as the document holds it.
    package func seal(
        _ key: borrowing SecretKey, _ role: KeyringDocument.Role, _ number: Int64 = 0
    ) throws -> [UInt8] {
        try SealedValue.seal(
            key, key: rootKey.secret,
            associatedData: KeyringDocument.associatedData(role, vaultID: document.vaultID, number: number))
    }

    /// Opens a key that the document holds.
    ///
    /// - Throws: ``VaultError`` with code `tamperedKeyring` where it does not open.
    package func open(
        _ sealed: [UInt8], _ role: KeyringDocument.Role, _ number: Int64 = 0
    ) throws -> SharedKey {
        let data = KeyringDocument.associatedData(role, vaultID: document.vaultID, number: number)
        guard let key = try SealedValue.openKey(sealed, key: rootKey.secret, associatedData: data) else {
            throw KeyringReader.tampered
        }
        return SharedKey(key)
    }
}
