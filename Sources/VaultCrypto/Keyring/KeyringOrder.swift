internal import VaultModel

/// A change of a keyring, made by somebody who has unlocked it, for the owner of the vault to carry out.
///
/// Nothing in it is secret: a slot holds the root key sealed under an unlock key that whoever made the order keeps. The
/// proof shows that they had the root key; the owner refuses an order without. An order is good for one revision.
package struct KeyringOrder: Codable, Hashable, Sendable {
    /// What is to be done.
    package enum Act: String, Codable, Sendable {
        /// A slot is added under a number that none has.
        case add
        /// A slot takes the place of the one with its number.
        case replace
        /// The slot of a number goes.
        case remove
        /// One more backup holds the generations that are active.
        case backup
    }

    /// A slot as the keyring's file has it.
    package struct Slot: Codable, Hashable, Sendable {
        let number: Int64
        let label: String
        let method: String
        /// Base64.
        let rootKey: String
        /// Base64; for a passphrase alone, as are the limits.
        let salt: String?
        let opsLimit: Int64?
        let memLimit: Int64?
    }

    /// The revision of the keyring that it was made for.
    package let revision: Int64
    package let act: Act
    /// The slot that is removed.
    let number: Int64?
    /// The slot that is added, or takes another's place.
    let slot: Slot?
    /// Base64 of `KDF(V, "mv.order", order without proof)`.
    private(set) var proof: String

    init(
        revision: Int64, act: Act, number: Int64? = nil, slot: KeyringDocument.Slot? = nil,
        provedBy rootKey: borrowing SecretKey
    ) {
        self.revision = revision
        self.act = act
        self.number = number
        self.slot = slot.map(Slot.init)
        proof = ""
        proof = Base64.encode(Self.proof(of: message, rootKey))
    }

    /// Whether whoever made it had the root key.
    func isProved(by rootKey: borrowing SecretKey) -> Bool {
        guard let stated = Base64.decode(proof) else { return false }
        return ConstantTime.areEqual(stated, Self.proof(of: message, rootKey))
    }

    private static func proof(of message: [UInt8], _ rootKey: borrowing SecretKey) -> [UInt8] {
        KeyDerivation.value(from: rootKey, .keyringOrder, message)
    }

    /// The order without its proof, in canonical form.
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

/// Orders for the owner of the vault, made by whoever has unlocked the keyring's file. Nothing changes here.
extension Keyring {
    /// Orders a slot that a secret opens.
    ///
    /// - Parameters:
    ///   - file: the keyring's file as it is now.
    ///   - method: how the secret is brought; `.passphrase` exactly for a passphrase.
    ///   - cost: of a passphrase; nil for the usual one.
    /// - Throws: ``VaultError`` with code `invalidArgument` where there can be no such slot; as ``KeyringReader`` where
    ///   the file is not this keyring's.
    package func orderSlot(
        in file: [UInt8], label: String, method: UnlockMethod, secret: borrowing UnlockSecret, cost: Argon2id.Cost?
    ) throws -> KeyringOrder {
        let edit = try editing(file)
        let slot = try edit.slot(edit.freeSlotNumber, label, method, secret, cost)
        noteProof(of: slot)
        return try edit.checked(
            KeyringOrder(revision: edit.document.revision, act: .add, slot: slot, provedBy: edit.rootKey.secret))
    }

    /// Orders another way for the slot of a number.
    ///
    /// - Parameter label: nil leaves the one it has.
    /// - Throws: as ``orderSlot(in:label:method:secret:cost:)``.
    package func orderReplacement(
        of number: Int64, in file: [UInt8], label: String?, method: UnlockMethod, secret: borrowing UnlockSecret,
        cost: Argon2id.Cost?
    ) throws -> KeyringOrder {
        let edit = try editing(file)
        let slot = try edit.slot(number, label ?? edit.slot(number).label, method, secret, cost)
        noteProof(of: slot)
        return try edit.checked(
            KeyringOrder(revision: edit.document.revision, act: .replace, slot: slot, provedBy: edit.rootKey.secret))
    }

    /// Orders that a slot goes.
    ///
    /// - Parameter isForced: removes it though no slot that stays is known to open.
    /// - Throws: ``VaultError`` with code `invalidArgument` where there is none, or no other; `inUse` where it is the only one
    ///   that is known to open.
    package func orderRemoval(of number: Int64, in file: [UInt8], isForced: Bool = false) throws -> KeyringOrder {
        let edit = try editing(file)
        let order = try edit.checked(
            KeyringOrder(revision: edit.document.revision, act: .remove, number: number, provedBy: edit.rootKey.secret))
        guard isForced || edit.document.slots.contains(where: { $0.number != number && isProved($0) }) else {
            throw VaultError(
                .inUse,
                "slot \(number) is the only one that is known to open, and nothing shows that another does; unlock the "
                    + "keyring with what opens a slot that stays")
        }
        return order
    }

    /// Orders that a backup is counted.
    package func orderBackup(of file: [UInt8]) throws -> KeyringOrder {
        let edit = try editing(file)
        return KeyringOrder(revision: edit.document.revision, act: .backup, provedBy: edit.rootKey.secret)
    }

    /// The bytes of a backup: the same keyring, opened by one passphrase alone.
    ///
    /// - Parameter file: the keyring's file, in which the backup is counted already.
    /// - Throws: ``VaultError`` with code `invalidArgument` where the secret is no passphrase.
    package func backup(
        of file: [UInt8], label: String, secret: borrowing UnlockSecret, cost: Argon2id.Cost?
    ) throws -> [UInt8] {
        var edit = try editing(file)
        edit.document.slots = [try edit.slot(1, label, .passphrase, secret, cost)]
        return try edit.finished().bytes
    }

    /// What a keyring's file says, authenticated by the root key at hand.
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
    /// A slot that a secret opens, not in the document yet.
    func slot(
        _ number: Int64, _ label: String, _ method: UnlockMethod, _ secret: borrowing UnlockSecret,
        _ cost: Argon2id.Cost?
    ) throws -> KeyringDocument.Slot {
        try KeyringDocument.Slot(
            number: number, label: label, method: method, sealing: rootKey.secret, of: document.vaultID, for: secret,
            cost: cost)
    }

    /// The order, tried here first, so that what cannot be is refused before anything is sent.
    fileprivate func checked(_ order: KeyringOrder) throws -> KeyringOrder {
        var trial = self
        try trial.carryOut(order)
        return order
    }
}
