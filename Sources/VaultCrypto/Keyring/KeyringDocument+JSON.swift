internal import VaultModel

extension KeyringDocument {
    /// Reads the object of a keyring file whose checksum was right. Limits are checked here, keys are not.
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
        rest = object
        let (current, all) = (current, generations)
        guard all.contains(where: { $0.number == current && $0.key != nil }) else { throw .init(name: "current") }
        guard Set(all.map(\.number)).count == all.count else { throw .init(name: "generations") }
        guard Self.areApart(all.map { $0.number...$0.number } + retired.map { $0.first...$0.last }) else {
            throw .init(name: "retired")
        }
        guard !locators.isEmpty, Set(locators.map(\.number)).count == locators.count else {
            throw .init(name: "locators")
        }
        guard slots.count <= Self.mostSlots, Set(slots.map(\.number)).count == slots.count else {
            throw .init(name: "slots")
        }
        // Nothing is authenticated yet, and each passphrase slot may be tried.
        guard slots.compactMap(\.passphrase).reduce(0, { $0 + $1.work }) <= Argon2id.Cost.mostWork else {
            throw .init(name: "memLimit")
        }
    }

    /// Whether no number is in two ranges.
    private static func areApart(_ ranges: [ClosedRange<Int64>]) -> Bool {
        let sorted = ranges.sorted { $0.lowerBound < $1.lowerBound }
        return zip(sorted, sorted.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }
    }

    /// The file's bytes, and what a reader makes of them: canonical JSON with checksum and authenticator, and one line end.
    ///
    /// - Throws: ``VaultError`` with code `storage` where they could not be read back: they must be written nowhere.
    func written(rootKey: borrowing SecretKey) throws -> (bytes: [UInt8], document: KeyringDocument) {
        var folded = self
        folded.fold()
        let bytes = try folded.encoded(rootKey: rootKey)
        guard bytes.count <= Self.mostBytes else {
            throw VaultError(
                .storage, "nothing was written: the keyring would be larger than \(Self.mostBytes >> 20) MiB; "
                    + "destroy older generations with keys retire")
        }
        do {
            return (bytes, try KeyringReader.document(in: bytes, authenticatedBy: rootKey))
        } catch let error as VaultError {
            throw VaultError(
                .storage, "nothing was written: the keyring could not be read again as it was to be: \(error.message)")
        }
    }

    /// The bytes that this makes, read back by nobody.
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
    /// The number of a slot, locator or generation: from 1, and within the u32 that associated data have for it.
    func keyNumber(_ name: String = "number") throws(MemberFailure) -> Int64 {
        let number = try integer(name)
        guard (1...Int64(UInt32.max)).contains(number) else { throw MemberFailure(name: name) }
        return number
    }

    /// A sealed 32-byte key.
    func sealedKey(_ name: String) throws(MemberFailure) -> [UInt8] {
        let bytes = try base64(name)
        guard bytes.count == SealedValue.overhead + SecretKey.byteCount else { throw MemberFailure(name: name) }
        return bytes
    }
}
