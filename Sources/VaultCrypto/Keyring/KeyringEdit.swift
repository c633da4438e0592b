/// A keyring on its way from one state of its file to the next. What an act does to it stands in an extension for that act.
package struct KeyringEdit {
    /// What the file will say; keys in it are sealed.
    package var document: KeyringDocument
    /// What seals them.
    package var rootKey: SharedKey

    /// Revokes every token made so far, here and for whoever unlocks the file from then on.
    package mutating func revokeTokens() { document.tokenEpoch += 1 }

    /// The bytes of the file, and the keys that whoever opens it gets: both come from reading the bytes again.
    ///
    /// - Throws: ``VaultError`` with code `storage` where they could not be read, `tamperedKeyring` where a key in them does
    ///   not open: then they must be written nowhere.
    func finished() throws -> (bytes: [UInt8], keys: KeyringKeys) {
        let (bytes, document) = try document.written(rootKey: rootKey.secret)
        return (bytes, try KeyringKeys(opening: document, rootKey: rootKey))
    }

    /// Seals a key as the document holds it.
    package func seal(
        _ key: borrowing SecretKey, _ role: KeyringDocument.Role, _ number: Int64 = 0
    ) throws -> [UInt8] {
        try SealedValue.seal(
            key, key: rootKey.secret,
            associatedData: try KeyringDocument.associatedData(role, vaultID: document.vaultID, number: number))
    }

    /// Opens a key that the document holds.
    ///
    /// - Throws: ``VaultError`` with code `tamperedKeyring` where it does not open.
    package func open(
        _ sealed: [UInt8], _ role: KeyringDocument.Role, _ number: Int64 = 0
    ) throws -> SharedKey {
        let data = try KeyringDocument.associatedData(role, vaultID: document.vaultID, number: number)
        guard let key = try SealedValue.openKey(sealed, key: rootKey.secret, associatedData: data) else {
            throw KeyringReader.tampered
        }
        return SharedKey(key)
    }
}
