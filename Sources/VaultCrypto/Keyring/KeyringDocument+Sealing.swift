internal import VaultModel

extension KeyringDocument.Slot {
    /// The longest label, in bytes of UTF-8.
    static let mostLabelBytes = 128

    /// A slot that a secret opens: the root key, sealed under that secret's unlock key.
    ///
    /// - Parameters:
    ///   - method: how the secret is brought; `.passphrase` exactly for a passphrase.
    ///   - cost: the cost of a passphrase; nil for the usual one.
    /// - Throws: ``VaultError`` with code `invalidArgument` where secret, method, cost or label cannot be.
    init(
        number: Int64, label: String, method: UnlockMethod, sealing rootKey: borrowing SecretKey, of vaultID: VaultID,
        for secret: borrowing UnlockSecret, cost: Argon2id.Cost?
    ) throws {
        self.init(
            number: number, label: label, method: method, rootKey: [],
            passphrase: method == .passphrase ? try cost ?? .moderate() : nil)
        // A keyring that states another cost could not be read again.
        guard passphrase?.isPossible ?? true else {
            throw VaultError(.invalidArgument, "a passphrase takes 1 to 64 passes over 8 MiB to 4 GiB of memory")
        }
        try checkLabel()
        guard let unlockKey = try secret.unlockKey(for: self) else {
            throw VaultError(.invalidArgument, "a passphrase slot needs a passphrase, every other slot a key")
        }
        self.rootKey = try SealedValue.seal(
            rootKey, key: unlockKey,
            associatedData: try KeyringDocument.associatedData(.slot, vaultID: vaultID, number: number))
    }

    /// Whether a secret opens it. A passphrase takes most of a second.
    func opens(in vaultID: VaultID, with secret: borrowing UnlockSecret) throws -> Bool {
        guard let unlockKey = try secret.unlockKey(for: self) else { return false }
        let data = try KeyringDocument.associatedData(.slot, vaultID: vaultID, number: number)
        return try SealedValue.openKey(rootKey, key: unlockKey, associatedData: data) != nil
    }

    /// - Throws: ``VaultError`` with code `invalidArgument` where people could not read the label.
    func checkLabel() throws {
        guard label.utf8.count <= Self.mostLabelBytes,
            label.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else {
            throw VaultError(
                .invalidArgument,
                "a slot's label has at most \(Self.mostLabelBytes) bytes and no control characters; give a shorter one")
        }
    }
}
