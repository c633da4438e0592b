package import VaultModel

/// The keyring file as values: everything in it that is secret is still sealed.
///
/// Members that this version does not know are kept and written back.
package struct KeyringDocument: Sendable {
    package static let format = "mediavault-keyring/1"

    /// The most slots of a keyring: each passphrase slot that is tried costs time and memory.
    package static let mostSlots = 16
    /// The longest file that is written.
    package static let mostBytes = 1 << 20
    /// The longest file that is read: older versions kept an entry for every retired generation, and may be past
    /// ``mostBytes``. What is written next is folded.
    package static let mostBytesRead = 4 << 20
    /// The most generations that are not retired: with so many, and all that may stand beside them, a file is not too long.
    package static let mostActive = 4096

    /// One way to unlock: the root key, sealed under the unlock key of this way.
    package struct Slot: Sendable {
        package var number: Int64
        package var label: String
        package var method: UnlockMethod
        package var rootKey: [UInt8]
        /// How the passphrase becomes the unlock key; nil for the other methods.
        package var passphrase: Argon2id.Cost?
        var rest = JSONObject()
    }

    /// A key that names resources, sealed under the root key.
    package struct Locator: Sendable {
        package var number: Int64
        package var key: [UInt8]
        var rest = JSONObject()
    }

    /// A generation: its key, sealed under the root key, until it is retired.
    package struct Generation: Sendable {
        package var number: Int64
        package var created: Int64
        /// The sealed key; nil once the generation is retired.
        package var key: [UInt8]?
        package var backups: Int64
        var rest = JSONObject()
    }

    package var vaultID: VaultID
    /// Grows by one with each write.
    package var revision: Int64
    package var slots: [Slot]
    package var locators: [Locator]
    package var tokenKey: [UInt8]
    package var tokenEpoch: Int64
    package var receiptKey: [UInt8]
    package var receiptSequence: Int64
    package var generations: [Generation]
    /// Generations that were retired long ago, in ascending order: see ``fold()``.
    package var retired: [RetiredRange] = []
    package var current: Int64
    var rest = JSONObject()

    /// What a sealed member is.
    package enum Role: String {
        case slot, locator, token, receipt, generation
    }

    /// What a sealed member is bound to: `role ‖ 00 ‖ vault id ‖ u32 number`.
    ///
    /// - Throws: ``VaultError`` with code `storage` for a number that does not fit: two members are never bound to the same.
    package static func associatedData(_ role: Role, vaultID: VaultID, number: Int64 = 0) throws -> [UInt8] {
        guard let number = UInt32(exactly: number) else {
            throw VaultError(
                .storage, "a keyring has no number left for another \(role.rawValue): they end at \(UInt32.max)")
        }
        return Array(role.rawValue.utf8) + [0] + vaultID.bytes + LittleEndian.bytes(number)
    }

    /// The sum over everything but itself and the authenticator: tells damage from a wrong key.
    static func checksum(of object: JSONObject) -> String {
        var object = object
        object["checksum"] = nil
        object["authenticator"] = nil
        return Hex.encode(KeyDerivation.checksum(.keyringSum, JSONValue.object(object.members).canonical))
    }

    /// Authenticates everything but itself, under the root key.
    static func authenticator(of object: JSONObject, rootKey: borrowing SecretKey) throws -> String {
        var object = object
        object["authenticator"] = nil
        let key = try KeyDerivation.key(from: rootKey, .keyring)
        return Base64.encode(KeyDerivation.value(from: key, .keyringMAC, JSONValue.object(object.members).canonical))
    }
}
