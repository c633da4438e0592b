internal import VaultModel

/// A request to the vault's owner to change the keyring.
///
/// A process that has unlocked the keyring creates the order. The order contains no secret, because a slot in it holds
/// the root key sealed under an unlock key that the creator keeps. The order's proof shows that the creator had the
/// root key, and the owner refuses an order without a valid proof. An order is valid for one revision only.
package struct KeyringOrder: Codable, Hashable, Sendable {
    /// The kind of change.
    package enum Act: String, Codable, CaseIterable, Sendable {
        /// Adds a slot under an unused number.
        case add
        /// Replaces the slot that has the same number.
        case replace
        /// Removes the slot with a given number.
        case remove
        /// Records that one more backup holds the keys of the active generations.
        case backup
    }

    /// A slot as the keyring file stores it.
    package struct Slot: Codable, Hashable, Sendable {
        package let number: Int64
        let label: String
        let method: String
        /// The sealed root key, in base64.
        let rootKey: String
        /// The salt in base64. It is present only for a passphrase, as are the two limits.
        let salt: String?
        let opsLimit: Int64?
        let memLimit: Int64?
    }

    /// The keyring revision that the order applies to.
    package let revision: Int64
    package let act: Act
    /// The number of the slot to remove.
    let number: Int64?
    /// The slot to add, or the slot that replaces another.
    package let slot: Slot?
    /// The base64 form of `KDF(V, "mv.order", order without proof)`, where `V` is the root key.
    private(set) var proof: String

    init(
        revision: Int64, act: Act, number: Int64? = nil, slot: KeyringDocument.Slot? = nil,
        authenticatedWith rootKey: borrowing SecretKey
    ) {
        self.revision = revision
        self.act = act
        self.number = number
        self.slot = slot.map(Slot.init)
        proof = ""
        proof = Base64.encode(Self.proof(of: message, rootKey))
    }

    /// Whether the proof shows that the order's creator had the root key.
    func isProved(by rootKey: borrowing SecretKey) -> Bool {
        guard let stated = Base64.decode(proof) else { return false }
        return ConstantTime.areEqual(stated, Self.proof(of: message, rootKey))
    }

    private static func proof(of message: [UInt8], _ rootKey: borrowing SecretKey) -> [UInt8] {
        KeyDerivation.value(from: rootKey, .keyringOrder, message)
    }

    /// The order in canonical form, without its proof.
    private var message: [UInt8] {
        var members: [String: JSONValue] = ["revision": .integer(revision), "act": .string(act.rawValue)]
        members["number"] = number.map { .integer($0) }
        members["slot"] = slot.map { .object($0.object.members) }
        return JSONValue.object(members).canonical
    }
}

extension KeyringOrder.Slot {
    init(_ slot: KeyringDocument.Slot) {
        self.init(
            number: slot.number, label: slot.label, method: slot.method.rawValue, rootKey: Base64.encode(slot.rootKey),
            salt: slot.passphrase.map { Base64.encode($0.salt) }, opsLimit: slot.passphrase?.opsLimit,
            memLimit: slot.passphrase?.memLimit)
    }

    var object: JSONObject {
        var object = JSONObject([
            "number": .integer(number), "label": .string(label), "method": .string(method), "rootKey": .string(rootKey),
        ])
        object["salt"] = salt.map { .string($0) }
        object["opsLimit"] = opsLimit.map { .integer($0) }
        object["memLimit"] = memLimit.map { .integer($0) }
        return object
    }
}

extension KeyringDocument {
    /// Returns the number of a slot that a 32-byte key opens; nil if there is none. Returns nil for a passphrase, which
    /// would take too long to try.
    fileprivate func slot(openedByKey secret: borrowing UnlockSecret) throws -> Int64? {
        for slot in slots where slot.passphrase == nil {
            guard let unlockKey = try secret.unlockKey(for: slot) else { continue }
            let data = try Self.associatedData(.slot, vaultID: vaultID, number: slot.number)
            if try SealedValue.openKey(slot.rootKey, key: unlockKey, associatedData: data) != nil { return slot.number }
        }
        return nil
    }
}

/// Creates orders for the vault's owner from the unlocked keyring file, without changing the keyring.
extension Keyring {
    /// Checks that a 32-byte key does not yet open a slot of the keyring. Passphrases are not tried.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the key opens a slot; as ``KeyringReader`` if the file
    ///   does not belong to this keyring.
    package func requireUnused(_ secret: borrowing UnlockSecret, in file: [UInt8]) throws {
        guard let number = try editing(file).document.slot(openedByKey: secret) else { return }
        throw VaultError(.invalidArgument, "this key opens slot \(number) already; give another key", hint: .listSlots)
    }

    /// Returns whether a secret opens a slot of a keyring file. Trying a passphrase takes most of a second for each slot
    /// that has one.
    ///
    /// - Throws: as ``KeyringReader`` if the file does not belong to this keyring.
    package func isOpened(_ file: [UInt8], by secret: borrowing UnlockSecret) throws -> Bool {
        let document = try editing(file).document
        for slot in document.slots where try slot.opens(in: document.vaultID, with: secret) { return true }
        return false
    }

    /// Creates an order to add a slot that a secret opens.
    ///
    /// - Parameters:
    ///   - file: the current keyring file.
    ///   - method: how the secret is supplied; `.passphrase` if and only if it is a passphrase.
    ///   - cost: the cost of deriving a key from a passphrase; nil for the default.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the slot cannot be created, or `inUse` if there are
    ///   already 16 slots; as ``KeyringReader`` if the file does not belong to this keyring.
    package func orderSlot(
        in file: [UInt8], label: String, method: UnlockMethod, secret: borrowing UnlockSecret, cost: Argon2id.Cost?
    ) throws -> KeyringOrder {
        let edit = try editing(file)
        let slot = try edit.slot(edit.freeSlotNumber, label, method, secret, cost)
        noteOpens(of: slot)
        return try edit.checked(
            KeyringOrder(
                revision: edit.document.revision, act: .add, slot: slot, authenticatedWith: edit.rootKey.secret))
    }

    /// Creates an order to replace a slot.
    ///
    /// - Parameter label: the new label; nil to keep the slot's label.
    /// - Throws: as ``orderSlot(in:label:method:secret:cost:)``.
    package func orderReplacement(
        of number: Int64, in file: [UInt8], label: String?, method: UnlockMethod, secret: borrowing UnlockSecret,
        cost: Argon2id.Cost?
    ) throws -> KeyringOrder {
        let edit = try editing(file)
        let slot = try edit.slot(number, label ?? edit.slot(number).label, method, secret, cost)
        noteOpens(of: slot)
        return try edit.checked(
            KeyringOrder(
                revision: edit.document.revision, act: .replace, slot: slot, authenticatedWith: edit.rootKey.secret))
    }

    /// Creates an order to remove a slot.
    ///
    /// - Parameter isForced: whether to remove the slot even if no remaining slot is known to open.
    /// - Throws: ``VaultError`` with code `notHeld` if the slot does not exist, `invalidArgument` if it is the last one, or `inUse`
    ///   if it is the only slot that is known to open; as ``KeyringReader`` if the file does not belong to this
    ///   keyring.
    package func orderRemoval(of number: Int64, in file: [UInt8], isForced: Bool = false) throws -> KeyringOrder {
        let edit = try editing(file)
        let order = try edit.checked(
            KeyringOrder(
                revision: edit.document.revision, act: .remove, number: number, authenticatedWith: edit.rootKey.secret))
        guard isForced || edit.document.slots.contains(where: { $0.number != number && isProved($0) }) else {
            throw VaultError(
                .inUse,
                "slot \(number) is the only one that is known to open; unlock the keyring with the key or passphrase "
                    + "of a slot that stays, or remove it anyway", hint: .force)
        }
        return order
    }

    /// Creates an order to count a backup.
    package func orderBackup(of file: [UInt8]) throws -> KeyringOrder {
        let edit = try editing(file)
        return KeyringOrder(revision: edit.document.revision, act: .backup, authenticatedWith: edit.rootKey.secret)
    }

    /// Returns the bytes of a backup, which is the same keyring with a single passphrase slot.
    ///
    /// - Parameter file: the keyring file, in which the backup has already been counted.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the secret is not a passphrase.
    package func backup(
        of file: [UInt8], label: String, secret: borrowing UnlockSecret, cost: Argon2id.Cost?
    ) throws -> [UInt8] {
        var edit = try editing(file)
        edit.document.slots = [try edit.slot(1, label, .passphrase, secret, cost)]
        return try edit.finished().bytes
    }

    /// Reads a keyring file and authenticates it with the root key.
    ///
    /// - Throws: as ``KeyringReader``.
    package func document(of file: [UInt8]) throws -> KeyringDocument { try editing(file).document }

    func editing(_ file: [UInt8]) throws -> KeyringEdit {
        let root = keys.rootKey
        return KeyringEdit(
            document: try KeyringReader.document(in: file, authenticatedBy: root.secret), rootKey: root)
    }
}

extension KeyringEdit {
    /// Creates a slot that a secret opens, without adding it to the document.
    func slot(
        _ number: Int64, _ label: String, _ method: UnlockMethod, _ secret: borrowing UnlockSecret,
        _ cost: Argon2id.Cost?
    ) throws -> KeyringDocument.Slot {
        try KeyringDocument.Slot(
            number: number, label: label, method: method, sealing: rootKey.secret, of: document.vaultID, for: secret,
            cost: cost)
    }

    /// Returns the order after applying it to a copy, so that an invalid order is refused before it is sent.
    fileprivate func checked(_ order: KeyringOrder) throws -> KeyringOrder {
        var trial = self
        try trial.carryOut(order)
        return order
    }
}
