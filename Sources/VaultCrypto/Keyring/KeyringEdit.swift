package import VaultModel

/// A keyring whose file is being changed. Each key operation has its own extension.
package struct KeyringEdit {
    /// The contents of the new file, in which the keys are sealed.
    package var document: KeyringDocument
    /// The key that seals the keys in ``document``.
    package var rootKey: SharedKey

    /// Revokes all existing tokens, in this process and in every process that unlocks the new file.
    package mutating func revokeTokens() { document.tokenEpoch += 1 }

    /// Returns the new file's bytes, and the keys that a reader obtains by opening those bytes.
    ///
    /// - Throws: ``VaultError`` with code `storage` if the new file would be too large or could not be read back, or
    ///   `tamperedKeyring` if a key in it does not open. The file must then not be written.
    func finished() throws -> (bytes: [UInt8], keys: KeyringKeys) {
        let (bytes, document) = try document.written(rootKey: rootKey.secret)
        return (bytes, try KeyringKeys(opening: document, rootKey: rootKey))
    }

    /// Ends the change by raising the revision, and returns the new file.
    ///
    /// - Throws: as ``finished()``.
    consuming func finish() throws -> FinishedKeyring {
        document.revision += 1
        let (bytes, keys) = try finished()
        return FinishedKeyring(
            bytes: bytes, currentGeneration: Int(document.current), keys: keys, rootKey: rootKey,
            slots: document.slots)
    }

    /// Seals a key for the document.
    package func seal(
        _ key: borrowing SecretKey, _ role: KeyringDocument.Role, _ number: Int64 = 0
    ) throws -> [UInt8] {
        try SealedValue.seal(
            key, key: rootKey.secret,
            associatedData: try KeyringDocument.associatedData(role, vaultID: document.vaultID, number: number))
    }

    /// Opens one of the document's keys.
    ///
    /// - Throws: ``VaultError`` with code `tamperedKeyring` if the key does not open.
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

/// A changed keyring: the bytes of its new file, and the keys that a reader obtains by opening them.
package struct FinishedKeyring {
    package let bytes: [UInt8]
    /// The number of the generation that new resources use.
    package let currentGeneration: Int
    let keys: KeyringKeys
    let rootKey: SharedKey
    let slots: [KeyringDocument.Slot]
}

/// Adds, replaces and removes slots.
extension KeyringEdit {
    /// Adds a slot under an unused number.
    ///
    /// - Throws: ``VaultError`` with code `inUse` if there are already 16 slots, or `invalidArgument` if the slot's
    ///   number is in use or its label is invalid.
    package mutating func add(_ slot: KeyringDocument.Slot) throws {
        try slot.checkLabel()
        guard document.slots.count < KeyringDocument.maxSlots else {
            throw VaultError(
                .inUse,
                "the keyring has \(KeyringDocument.maxSlots) slots, which is the maximum; remove one "
                    + "first", hint: .removeSlot)
        }
        guard !document.slots.contains(where: { $0.number == slot.number }) else {
            throw VaultError(.invalidArgument, "slot \(slot.number) already exists; try again")
        }
        document.slots.append(slot)
    }

    /// Adds a slot from another file of this keyring, under a new number.
    ///
    /// - Throws: as ``add(_:)``, and ``VaultError`` with code `wrongKey` if the slot needs another kind of secret.
    mutating func add(
        _ slot: KeyringDocument.Slot, as number: Int64, openedBy secret: borrowing UnlockSecret
    ) throws {
        var slot = slot
        guard let unlockKey = try secret.unlockKey(for: slot) else {
            throw VaultError(.wrongKey, "this key or passphrase does not open slot \(slot.number) of the backup")
        }
        slot.number = number
        slot.rootKey = try SealedValue.seal(
            rootKey.secret, key: unlockKey,
            associatedData: KeyringDocument.associatedData(.slot, vaultID: document.vaultID, number: number))
        try add(slot)
    }

    /// Replaces the slot that has the same number. The old secret no longer opens the keyring.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if there is no such slot or the new label is invalid.
    package mutating func replace(with slot: KeyringDocument.Slot) throws {
        try slot.checkLabel()
        document.slots[try index(ofSlot: slot.number)] = slot
    }

    /// Removes a slot.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if there is no such slot, or if it is the last one, without
    ///   which the keyring could not be unlocked.
    package mutating func removeSlot(_ number: Int64) throws {
        let index = try index(ofSlot: number)
        guard document.slots.count > 1 else {
            throw VaultError(
                .invalidArgument, "slot \(number) is the only way to unlock the keyring; add another slot first")
        }
        document.slots.remove(at: index)
    }

    /// The number for a new slot, which is one above the highest in use.
    var freeSlotNumber: Int64 { (document.slots.map(\.number).max() ?? 0) + 1 }

    /// Returns the slot that has a given number.
    func slot(_ number: Int64) throws -> KeyringDocument.Slot { document.slots[try index(ofSlot: number)] }

    private func index(ofSlot number: Int64) throws -> Int {
        guard let index = document.slots.firstIndex(where: { $0.number == number }) else {
            throw VaultError(
                .notHeld, "the keyring has no slot \(number); give one that it has", hint: .listSlots)
        }
        return index
    }
}

extension KeyringEdit {
    /// Replaces the root key, the token key and the receipt key, and adds a generation.
    ///
    /// Everything else is sealed again, so that the old root key opens nothing in the document and authenticates
    /// nothing.
    ///
    /// - Parameters:
    ///   - secrets: the secrets of the slots to keep. Trying a passphrase takes most of a second for each passphrase
    ///     slot.
    ///   - dropsOthers: whether to remove the slots that no secret opens.
    ///   - now: the current time, in seconds since 1970.
    ///   - taken: generation numbers that have already been used, even if a restored keyring does not know them.
    /// - Returns: the number of the new generation.
    /// - Throws: ``VaultError`` with code `wrongKey` if a secret opens no slot, `invalidArgument` if a slot that may
    ///   not be removed would be lost, or `inUse` if the keyring can hold no further generation.
    package mutating func renewRoot(
        openedBy secrets: [SharedSecret], droppingOthers dropsOthers: Bool, now: Int64, avoiding taken: Set<Int> = []
    ) throws -> Int {
        let root = SharedKey(try SecureRandom.key("root key"))
        let slots = try OpenedSlots(of: document, by: secrets)
        try slots.check(droppingOthers: dropsOthers)
        document.slots = try reseal(slots, root.secret)
        let locators = try document.locators.map { try open($0.key, .locator, $0.number) }
        let generations = try document.generations.map { generation in
            try generation.key.map { try open($0, .generation, generation.number) }
        }
        rootKey = root
        for (index, key) in locators.enumerated() {
            document.locators[index].key = try seal(key.secret, .locator, document.locators[index].number)
        }
        document.receiptKey = try seal(SecureRandom.key("receipt seed"), .receipt)
        for (index, key) in generations.enumerated() {
            guard let key else { continue }
            document.generations[index].key = try seal(key.secret, .generation, document.generations[index].number)
        }
        document.tokenKey = try seal(SecureRandom.key("token key"), .token)
        return try addGeneration(now: now, avoiding: taken)
    }

    /// Returns the slots to keep, each with the new root key sealed under its unlock key.
    private func reseal(_ slots: OpenedSlots, _ root: borrowing SecretKey) throws -> [KeyringDocument.Slot] {
        var staying: [KeyringDocument.Slot] = []
        for (slot, unlockKey) in slots.staying {
            var slot = slot
            slot.rootKey = try SealedValue.seal(
                root, key: unlockKey.secret,
                associatedData: try KeyringDocument.associatedData(
                    .slot, vaultID: document.vaultID, number: slot.number))
            staying.append(slot)
        }
        return staying
    }
}

extension KeyringEdit {
    /// Adds a generation with a fresh key, and makes new resources use it.
    ///
    /// - Parameters:
    ///   - now: the current time, in seconds since 1970.
    ///   - taken: numbers that have already been used, even if a restored keyring does not know them. They come from
    ///     outside the keyring, so they are only skipped: numbering does not continue from them.
    /// - Returns: the number of the new generation, which is the next free one above the highest that ever existed.
    /// - Throws: ``VaultError`` with code `inUse` if the keyring already holds the maximum number of generations.
    package mutating func addGeneration(now: Int64, avoiding taken: Set<Int> = []) throws -> Int {
        guard document.generations.count(where: { $0.key != nil }) < KeyringDocument.maxActiveGenerations else {
            throw VaultError(
                .inUse,
                "the keyring holds \(KeyringDocument.maxActiveGenerations) generations, which is the maximum; rewrap "
                    + "the keys, then retire the older generations", hint: .rewrap)
        }
        var number = document.highestGeneration + 1
        while taken.contains(Int(number)) { number += 1 }
        let key = try seal(SecureRandom.key("generation key"), .generation, number)
        document.generations.append(.init(number: number, created: max(0, now), key: key, backups: 0))
        document.current = number
        return Int(number)
    }

    /// Removes a generation's key from the document. Leaves a generation that is already retired unchanged.
    ///
    /// - Throws: ``VaultError`` with code `inUse` for the current generation, or `notHeld` if no generation has
    ///   this number.
    package mutating func retireGeneration(_ number: Int) throws {
        guard number != document.current else { throw Self.currentGeneration(number) }
        guard !document.retired.contains(where: { $0.numbers.contains(number) }) else { return }
        guard let index = document.generations.firstIndex(where: { $0.number == number }) else {
            throw Self.unknownGeneration(number)
        }
        document.generations[index].key = nil
        document.sealsRecordsByGeneration = true
    }

    /// Returns the error for retiring the generation that new resources use.
    package static func currentGeneration(_ number: Int) -> VaultError {
        VaultError(
            .inUse, "generation \(number) is the one that new resources use; rotate and rewrap the keys first",
            hint: .rotate)
    }

    /// Returns the error for a number that belongs to no generation.
    package static func unknownGeneration(_ number: Int) -> VaultError {
        VaultError(
            .notHeld, "the keyring has no generation \(number); give one that it has",
            hint: .listGenerations)
    }
}

extension KeyringEdit {
    /// Carries out an order to change the keyring.
    ///
    /// - Throws: ``VaultError`` with code `wrongKey` if the order was created without this keyring's root key,
    ///   `olderKeyring` if the keyring has changed since then, or `invalidArgument` or `inUse` if the change is not
    ///   possible.
    package mutating func carryOut(_ order: KeyringOrder) throws {
        guard order.isProved(by: rootKey.secret) else {
            throw VaultError(
                .wrongKey, "the order was not created with this vault's keyring; use the owner's keyring file")
        }
        guard order.revision == document.revision else {
            throw VaultError(.olderKeyring, "the keyring has changed since the order was created; try again")
        }
        switch (order.act, order.slot, order.number) {
        case (.add, let slot?, nil): try add(Self.read(slot))
        case (.replace, let slot?, nil): try replace(with: Self.read(slot))
        case (.remove, nil, let number?): try removeSlot(number)
        case (.backup, nil, nil): countBackup()
        default: throw Self.unusable
        }
    }

    private static func read(_ slot: KeyringOrder.Slot) throws -> KeyringDocument.Slot {
        guard let slot = try? KeyringDocument.Slot(reading: slot.object) else { throw unusable }
        return slot
    }

    private static var unusable: VaultError {
        VaultError(.invalidArgument, "the order does not describe a possible change of a keyring; correct it")
    }
}

extension KeyringEdit {
    /// Turns a backup into a keyring that the backup's vault accepts.
    ///
    /// Each revision since the backup may have revoked all tokens once, so the token epoch increases by the number of
    /// those revisions.
    ///
    /// - Parameters:
    ///   - lastRevision: the highest revision that the vault has seen.
    ///   - retired: the generations whose keys are not restored.
    ///   - current: the generation that new resources use.
    mutating func restore(after lastRevision: Int64, without retired: Set<Int>, current: Int) {
        let missed = max(0, lastRevision - document.revision)
        document.tokenEpoch += missed
        document.revision += missed + 1
        document.current = Int64(current)
        for index in document.generations.indices where retired.contains(Int(document.generations[index].number)) {
            document.generations[index].key = nil
        }
    }
}

extension KeyringEdit {
    /// Adds a locator with a fresh key.
    ///
    /// - Returns: the number of the new locator, which is one above the highest.
    package mutating func addLocator() throws -> Int {
        let number = (document.locators.map(\.number).max() ?? 0) + 1
        let key = try seal(SecureRandom.key("locator key"), .locator, number)
        document.locators.append(.init(number: number, key: key))
        return Int(number)
    }

    /// Removes all locators except one from the document.
    package mutating func dropLocators(except number: Int) { document.locators.removeAll { $0.number != number } }
}

extension KeyringEdit {
    /// Records that one more backup holds the key of each active generation.
    mutating func countBackup() {
        for index in document.generations.indices where document.generations[index].key != nil {
            document.generations[index].backups += 1
        }
    }
}
