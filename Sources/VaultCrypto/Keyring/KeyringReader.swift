package import VaultModel

/// Reads a keyring file, and checks it in an order that lets each kind of failure have its own error.
package enum KeyringReader {
    /// Unlocks a keyring.
    ///
    /// The checks run in this order: JSON and format → checksum (*damaged*) → limits (*damaged*) → slots (*wrong key*)
    /// → authenticator (*tampered*). The index later checks that the keyring belongs to this vault and is new enough.
    /// Trying a passphrase takes most of a second for each passphrase slot, so call this on a thread that may block.
    ///
    /// - Throws: ``VaultError`` with code `damagedKeyring`, `wrongKey` or `tamperedKeyring`.
    package static func unlock(_ file: [UInt8], with secret: borrowing UnlockSecret) throws -> Keyring {
        let (object, document) = try read(file)
        var opened: (key: SharedKey, slot: KeyringDocument.Slot)?
        for slot in document.slots where opened == nil {
            guard let unlockKey = try secret.unlockKey(for: slot) else { continue }
            let data = try KeyringDocument.associatedData(.slot, vaultID: document.vaultID, number: slot.number)
            if let key = try SealedValue.openKey(slot.rootKey, key: unlockKey, associatedData: data) {
                opened = (SharedKey(key), slot)
            }
        }
        guard let opened else {
            throw VaultError(
                .wrongKey,
                "the key or passphrase opens no slot of the keyring; give one that does, or the keyring that it opens",
                hint: .listSlots)
        }
        try authenticate(object, by: opened.key.secret)
        return try Keyring(document: document, rootKey: opened.key, unlockedBy: opened.slot)
    }

    /// Reads a keyring file without a key. Its contents are therefore not authenticated.
    ///
    /// - Throws: ``VaultError`` with code `damagedKeyring` if the file is not a valid keyring.
    package static func unauthenticated(_ file: [UInt8]) throws -> KeyringDocument { try read(file).document }

    /// Returns the id of the vault that a keyring file belongs to, without unlocking the file.
    package static func vaultID(of file: [UInt8]) throws -> VaultID { try read(file).document.vaultID }

    /// Reads a keyring file and authenticates it with a root key that is already open.
    static func document(in file: [UInt8], authenticatedBy rootKey: borrowing SecretKey) throws -> KeyringDocument {
        let (object, document) = try read(file)
        try authenticate(object, by: rootKey)
        return document
    }

    private static func authenticate(_ object: JSONObject, by rootKey: borrowing SecretKey) throws {
        guard let stated = object["authenticator"], case .string(let authenticator) = stated,
            authenticator == (try KeyringDocument.authenticator(of: object, rootKey: rootKey))
        else { throw tampered }
    }

    private static func read(_ file: [UInt8]) throws -> (object: JSONObject, document: KeyringDocument) {
        guard file.count <= KeyringDocument.maxBytesRead else {
            throw damaged("it is larger than \(KeyringDocument.maxBytesRead >> 20) MiB")
        }
        guard let value = try? JSONParser.parse(file), let object = try? JSONObject(value, name: "keyring"),
            let format = try? object.string("format")
        else { throw damaged("it is not a keyring in JSON") }
        guard format == KeyringDocument.format else {
            throw damaged("its format is not \(KeyringDocument.format); a newer version may have written it")
        }
        guard let stated = try? object.string("checksum"), stated == KeyringDocument.checksum(of: object) else {
            throw damaged("its checksum does not match its content")
        }
        do {
            return (object, try KeyringDocument(reading: object))
        } catch {
            throw damaged("its member \(error.name) is missing or out of bounds")
        }
    }

    private static func damaged(_ why: String) -> VaultError {
        VaultError(.damagedKeyring, "the keyring file is damaged: \(why); restore it from a backup")
    }

    static var tampered: VaultError {
        VaultError(
            .tamperedKeyring,
            "the keyring file was changed without its keys; restore it from a backup")
    }
}

/// Creates the keyring of a new vault.
package enum NewKeyring {
    /// Creates a keyring with one slot, one locator and generation 1.
    ///
    /// - Parameters:
    ///   - secret: the secret that will unlock the keyring.
    ///   - method: how that secret is supplied; `.passphrase` if and only if it is a passphrase.
    ///   - cost: the cost of deriving a key from a passphrase; nil for the default.
    ///   - now: the current time, in seconds since 1970.
    /// - Returns: the bytes of the keyring file.
    package static func make(
        with secret: borrowing UnlockSecret, method: UnlockMethod, label: String, cost: Argon2id.Cost? = nil, now: Int64
    ) throws -> [UInt8] {
        let vaultID: VaultID = try SecureRandom.identifier("vault id")
        let root = SharedKey(try SecureRandom.key("root key"))
        let slot = try KeyringDocument.Slot(
            number: 1, label: label, method: method, sealing: root.secret, of: vaultID, for: secret, cost: cost)
        func seal(_ key: borrowing SecretKey, _ role: KeyringDocument.Role, _ number: Int64 = 0) throws -> [UInt8] {
            try SealedValue.seal(
                key, key: root.secret,
                associatedData: try KeyringDocument.associatedData(role, vaultID: vaultID, number: number))
        }
        let document = KeyringDocument(
            vaultID: vaultID, revision: 1, slots: [slot],
            locators: [.init(number: 1, key: try seal(SecureRandom.key("locator key"), .locator, 1))],
            tokenKey: try seal(SecureRandom.key("token key"), .token), tokenEpoch: 1,
            receiptKey: try seal(SecureRandom.key("receipt seed"), .receipt), receiptSequence: 0,
            generations: [
                .init(
                    number: 1, created: max(0, now), key: try seal(SecureRandom.key("generation key"), .generation, 1),
                    backups: 0)
            ],
            current: 1)
        return try KeyringEdit(document: document, rootKey: root).finished().bytes
    }
}
