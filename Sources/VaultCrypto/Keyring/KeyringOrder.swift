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
