package import VaultModel

/// The contents of a keyring file, with all secrets still sealed.
///
/// Members that this version does not recognize are kept and written back.
package struct KeyringDocument: Sendable {
    package static let format = "mediavault-keyring/1"

    /// The maximum number of slots in a keyring, limited because trying a passphrase slot takes time and memory.
    package static let maxSlots = 16
    /// The maximum size, in bytes, of a file that this version writes.
    package static let maxBytes = 1 << 20
    /// The maximum size, in bytes, of a file that this version reads.
    ///
    /// Older versions kept an entry for every retired generation, so their files may exceed ``maxBytes``. The next
    /// write folds those entries.
    package static let maxBytesRead = 4 << 20
    /// The maximum number of generations that are not retired.
    ///
    /// A file with that many generations stays within ``maxBytes`` even if everything else in it is at its maximum.
    package static let maxActiveGenerations = 4096

    /// One way to unlock the keyring: the root key, sealed under the slot's unlock key.
    package struct Slot: Sendable {
        package var number: Int64
        package var label: String
        package var method: UnlockMethod
        package var rootKey: [UInt8]
        /// The cost of deriving the unlock key from the passphrase; nil for the other unlock methods.
        package var passphrase: Argon2id.Cost?
        var rest = JSONObject()
    }

    /// A locator (the key from which resource ids are derived), sealed under the root key.
    package struct Locator: Sendable {
        package var number: Int64
        package var key: [UInt8]
        var rest = JSONObject()
    }

    /// A generation, with its key sealed under the root key until the generation is retired.
    package struct Generation: Sendable {
        package var number: Int64
        package var created: Int64
        /// The sealed key; nil once the generation is retired.
        package var key: [UInt8]?
        package var backups: Int64
        var rest = JSONObject()
    }

    package var vaultID: VaultID
    /// The revision of the file, which increases by one with each write.
    package var revision: Int64
    package var slots: [Slot]
    package var locators: [Locator]
    package var tokenKey: [UInt8]
    package var tokenEpoch: Int64
    package var receiptKey: [UInt8]
    package var receiptSequence: Int64
    package var generations: [Generation]
    /// The generations that were retired long ago, in ascending order; see ``fold()``.
    package var retired: [RetiredRange] = []
    package var current: Int64
    /// Whether every record in the index is sealed under a generation, which is so after the first retirement.
    ///
    /// The keyring then does not open records of format versions up to 5, because someone who holds a retired keyring
    /// could have written them.
    package var sealsRecordsByGeneration = false
    var rest = JSONObject()

    /// The kind of a sealed member.
    package enum Role: String {
        case slot, locator, token, receipt, generation
    }

    /// Returns the associated data for a sealed member: `role ‖ 00 ‖ vault id ‖ u32 number`.
    ///
    /// - Throws: ``VaultError`` with code `storage` if the number does not fit 32 bits, because no two members may have
    ///   the same associated data.
    package static func associatedData(_ role: Role, vaultID: VaultID, number: Int64 = 0) throws -> [UInt8] {
        guard let number = UInt32(exactly: number) else {
            throw VaultError(
                .storage, "the keyring has no number left for another \(role.rawValue): the highest is \(UInt32.max)")
        }
        return Array(role.rawValue.utf8) + [0] + vaultID.bytes + LittleEndian.bytes(number)
    }

    /// Returns the checksum over every member except itself and the authenticator. It distinguishes damage from a wrong
    /// key.
    static func checksum(of object: JSONObject) -> String {
        var object = object
        object["checksum"] = nil
        object["authenticator"] = nil
        return Hex.encode(KeyDerivation.checksum(.keyringSum, JSONValue.object(object.members).canonical))
    }

    /// Returns the authenticator over every member except itself, computed under the root key.
    static func authenticator(of object: JSONObject, rootKey: borrowing SecretKey) throws -> String {
        var object = object
        object["authenticator"] = nil
        let key = try KeyDerivation.key(from: rootKey, .keyring)
        return Base64.encode(KeyDerivation.value(from: key, .keyringMAC, JSONValue.object(object.members).canonical))
    }
}

extension KeyringDocument {
    /// Reads the JSON object of a keyring file whose checksum has been verified. Checks limits, but opens no keys.
    init(reading object: JSONObject) throws(JSONObject.MemberFailure) {
        guard let id = VaultID(hex: try object.string("vaultID")) else { throw .init(name: "vaultID") }
        vaultID = id
        revision = try object.integer("revision")
        slots = []
        for slot in try object.objects("slots") { slots.append(try Slot(reading: slot)) }
        locators = []
        for locator in try object.objects("locators") {
            locators.append(
                Locator(number: try locator.keyNumber(), key: try locator.sealedKey("key"), rest: locator))
        }
        tokenKey = try object.sealedKey("tokenKey")
        tokenEpoch = try object.integer("tokenEpoch")
        receiptKey = try object.sealedKey("receiptKey")
        receiptSequence = try object.integer("receiptSequence")
        generations = []
        for generation in try object.objects("generations") { generations.append(try Generation(reading: generation)) }
        for range in try object.optionalObjects("retired") { retired.append(try RetiredRange(reading: range)) }
        retired.sort { $0.first < $1.first }
        current = try object.integer("current")
        sealsRecordsByGeneration = object["records"] == Self.byGenerations
        rest = object
        let (current, all) = (current, generations)
        guard all.contains(where: { $0.number == current && $0.key != nil }) else { throw .init(name: "current") }
        guard Set(all.map(\.number)).count == all.count else { throw .init(name: "generations") }
        guard Self.areDisjoint(all.map { $0.number...$0.number } + retired.map { $0.first...$0.last }) else {
            throw .init(name: "retired")
        }
        guard !locators.isEmpty, Set(locators.map(\.number)).count == locators.count else {
            throw .init(name: "locators")
        }
        guard slots.count <= Self.maxSlots, Set(slots.map(\.number)).count == slots.count else {
            throw .init(name: "slots")
        }
        // The limit matters because the file is not authenticated yet, and every passphrase slot in it may be tried.
        guard slots.compactMap(\.passphrase).reduce(0, { $0 + $1.work }) <= Argon2id.Cost.maxWork else {
            throw .init(name: "memLimit")
        }
    }

    private static let byGenerations = JSONValue.string("generations")

    /// Whether no two ranges overlap.
    private static func areDisjoint(_ ranges: [ClosedRange<Int64>]) -> Bool {
        let sorted = ranges.sorted { $0.lowerBound < $1.lowerBound }
        return zip(sorted, sorted.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }
    }

    /// Returns the file's bytes, and the document that a reader obtains from them.
    ///
    /// The bytes are canonical JSON with a checksum and an authenticator, followed by one line feed.
    ///
    /// - Throws: ``VaultError`` with code `storage` if the file would be too large or could not be read back. Nothing
    ///   may then be written.
    func written(rootKey: borrowing SecretKey) throws -> (bytes: [UInt8], document: KeyringDocument) {
        var folded = self
        folded.fold()
        let bytes = try folded.encoded(rootKey: rootKey)
        guard bytes.count <= Self.maxBytes else {
            throw VaultError(
                .storage,
                "nothing was written: the keyring would be larger than \(Self.maxBytes >> 20) MiB; "
                    + "destroy older generations", hint: .retire)
        }
        do {
            return (bytes, try KeyringReader.document(in: bytes, authenticatedBy: rootKey))
        } catch let error as VaultError {
            throw VaultError(
                .storage, "nothing was written: the new keyring could not be read back: \(error.message)")
        }
    }

    /// Returns the file's bytes without reading them back to check them.
    func encoded(rootKey: borrowing SecretKey) throws -> [UInt8] {
        var object = rest
        object["format"] = .string(Self.format)
        object["vaultID"] = .string(vaultID.hex)
        object["revision"] = .integer(revision)
        object["slots"] = .array(slots.map { .object($0.object.members) })
        object["locators"] = .array(
            locators.map { locator in
                var object = locator.rest
                object["number"] = .integer(locator.number)
                object["key"] = .string(Base64.encode(locator.key))
                return .object(object.members)
            })
        object["tokenKey"] = .string(Base64.encode(tokenKey))
        object["tokenEpoch"] = .integer(tokenEpoch)
        object["receiptKey"] = .string(Base64.encode(receiptKey))
        object["receiptSequence"] = .integer(receiptSequence)
        object["generations"] = .array(generations.map { .object($0.object.members) })
        object["retired"] = retired.isEmpty ? nil : .array(retired.map { .object($0.object.members) })
        object["current"] = .integer(current)
        if sealsRecordsByGeneration { object["records"] = Self.byGenerations }
        object["checksum"] = .string(Self.checksum(of: object))
        object["authenticator"] = .string(try Self.authenticator(of: object, rootKey: rootKey))
        return JSONValue.object(object.members).canonical + [0x0A]
    }
}

extension KeyringDocument.Slot {
    init(reading object: JSONObject) throws(JSONObject.MemberFailure) {
        number = try object.keyNumber()
        label = try object.string("label")
        guard let method = UnlockMethod(rawValue: try object.string("method")) else { throw .init(name: "method") }
        self.method = method
        rootKey = try object.sealedKey("rootKey")
        rest = object
        passphrase = nil
        guard method == .passphrase else { return }
        let cost = Argon2id.Cost(
            salt: try object.base64("salt"), opsLimit: try object.integer("opsLimit"),
            memLimit: try object.integer("memLimit"))
        guard cost.isPossible else { throw .init(name: "memLimit") }
        passphrase = cost
    }

    var object: JSONObject {
        var object = rest
        object["number"] = .integer(number)
        object["label"] = .string(label)
        object["method"] = .string(method.rawValue)
        object["rootKey"] = .string(Base64.encode(rootKey))
        if let passphrase {
            object["salt"] = .string(Base64.encode(passphrase.salt))
            object["opsLimit"] = .integer(passphrase.opsLimit)
            object["memLimit"] = .integer(passphrase.memLimit)
        }
        return object
    }
}

extension KeyringDocument.Generation {
    init(reading object: JSONObject) throws(JSONObject.MemberFailure) {
        number = try object.keyNumber()
        created = try object.integer("created")
        backups = try object.integer("backups")
        let state = try object.string("state")
        guard state == "active" || state == "retired", (state == "retired") == (object["key"] == nil) else {
            throw .init(name: "generations")
        }
        key = state == "active" ? try object.sealedKey("key") : nil
        rest = object
    }

    var object: JSONObject {
        var object = rest
        object["number"] = .integer(number)
        object["created"] = .integer(created)
        object["backups"] = .integer(backups)
        object["state"] = .string(key == nil ? "retired" : "active")
        object["key"] = key.map { .string(Base64.encode($0)) }
        return object
    }
}

extension JSONObject {
    /// Reads the number of a slot, locator or generation.
    ///
    /// The number is at least 1 and fits the u32 of the associated data.
    func keyNumber(_ name: String = "number") throws(MemberFailure) -> Int64 {
        let number = try integer(name)
        guard (1...Int64(UInt32.max)).contains(number) else { throw MemberFailure(name: name) }
        return number
    }

    /// Reads a sealed 32-byte key.
    func sealedKey(_ name: String) throws(MemberFailure) -> [UInt8] {
        let bytes = try base64(name)
        guard bytes.count == SealedValue.overhead + SecretKey.byteCount else { throw MemberFailure(name: name) }
        return bytes
    }
}

extension KeyringDocument.Slot {
    /// The maximum length of a label, in bytes of UTF-8.
    static let maxLabelBytes = 128

    /// Creates a slot that a secret opens, by sealing the root key under that secret's unlock key.
    ///
    /// - Parameters:
    ///   - method: how the secret is supplied; `.passphrase` if and only if it is a passphrase.
    ///   - cost: the cost of deriving a key from a passphrase; nil for the default.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the secret, method, cost or label is invalid.
    init(
        number: Int64, label: String, method: UnlockMethod, sealing rootKey: borrowing SecretKey, of vaultID: VaultID,
        for secret: borrowing UnlockSecret, cost: Argon2id.Cost?
    ) throws {
        self.init(
            number: number, label: label, method: method, rootKey: [],
            passphrase: method == .passphrase ? try cost ?? .moderate() : nil)
        // A keyring that states an invalid cost could not be read back.
        guard passphrase?.isPossible ?? true else {
            throw VaultError(
                .invalidArgument, "a passphrase must cost between 1 and 64 passes over 8 MiB to 4 GiB of memory")
        }
        try checkLabel()
        guard let unlockKey = try secret.unlockKey(for: self) else {
            throw VaultError(.invalidArgument, "a passphrase slot needs a passphrase; every other slot needs a key")
        }
        self.rootKey = try SealedValue.seal(
            rootKey, key: unlockKey,
            associatedData: try KeyringDocument.associatedData(.slot, vaultID: vaultID, number: number))
    }

    /// Whether a secret opens the slot. Trying a passphrase takes most of a second.
    func opens(in vaultID: VaultID, with secret: borrowing UnlockSecret) throws -> Bool {
        guard let unlockKey = try secret.unlockKey(for: self) else { return false }
        let data = try KeyringDocument.associatedData(.slot, vaultID: vaultID, number: number)
        return try SealedValue.openKey(rootKey, key: unlockKey, associatedData: data) != nil
    }

    /// Checks that the label is short enough and has no control characters.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the check fails.
    func checkLabel() throws {
        guard label.utf8.count <= Self.maxLabelBytes,
            label.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else {
            throw VaultError(
                .invalidArgument,
                "a slot label must have at most \(Self.maxLabelBytes) bytes and no control characters; choose another")
        }
    }
}

// Retired generations are recorded forever, so that no number is used twice. Folding them keeps the file small.
extension KeyringDocument {
    /// Retired generations with consecutive numbers, folded into one entry.
    package struct RetiredRange: Sendable {
        package var first: Int64
        package var last: Int64
        /// The largest number of backup files that hold the key of any one of these generations.
        package var backups: Int64
        var rest = JSONObject()

        /// The numbers of these generations.
        package var numbers: ClosedRange<Int> { Int(first)...Int(last) }
    }

    /// The maximum number of retired generations with entries of their own.
    static let maxRetiredEntries = 128

    /// Folds the oldest retired generations into ranges if more than ``maxRetiredEntries`` have entries of their own.
    ///
    /// The highest number keeps its own entry, because a version that does not know ranges numbers new generations from
    /// there.
    mutating func fold() {
        let entries = generations.filter { $0.key == nil }.sorted { $0.number < $1.number }.dropLast(
            Self.maxRetiredEntries)
        guard !entries.isEmpty else { return }
        let numbers = Set(entries.map(\.number))
        generations.removeAll { numbers.contains($0.number) }
        let ranges = retired + entries.map { RetiredRange(first: $0.number, last: $0.number, backups: $0.backups) }
        retired = ranges.sorted { $0.first < $1.first }.reduce(into: []) { joined, range in
            guard let before = joined.last, before.last + 1 == range.first else { return joined.append(range) }
            joined[joined.count - 1].last = range.last
            joined[joined.count - 1].backups = max(before.backups, range.backups)
        }
    }

    /// The highest number that any generation has or had.
    var highestGeneration: Int64 { max(generations.map(\.number).max() ?? 0, retired.last?.last ?? 0) }
}

extension KeyringDocument.RetiredRange {
    init(reading object: JSONObject) throws(JSONObject.MemberFailure) {
        first = try object.keyNumber("first")
        last = try object.keyNumber("last")
        backups = try object.integer("backups")
        rest = object
        guard first <= last else { throw .init(name: "last") }
    }

    var object: JSONObject {
        var object = rest
        object["first"] = .integer(first)
        object["last"] = .integer(last)
        object["backups"] = .integer(backups)
        return object
    }
}
