package import VaultModel

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

/// The ways to unlock: what adds, replaces and removes one.
extension KeyringEdit {
    /// Adds a slot under a number that none has.
    ///
    /// - Throws: ``VaultError`` with code `inUse` where there are 16 slots, `invalidArgument` where one has the number.
    package mutating func add(_ slot: KeyringDocument.Slot) throws {
        try slot.checkLabel()
        guard document.slots.count < KeyringDocument.mostSlots else {
            throw VaultError(
                .inUse,
                "the keyring has \(KeyringDocument.mostSlots) slots, the most there can be; keys slot list names them, "
                    + "keys slot remove takes one away")
        }
        guard !document.slots.contains(where: { $0.number == slot.number }) else {
            throw VaultError(.invalidArgument, "slot \(slot.number) is taken; run the command again")
        }
        document.slots.append(slot)
    }

    /// Adds a slot of another file of this keyring, under a number of its own here.
    ///
    /// - Throws: as ``add(_:)``; ``VaultError`` with code `wrongKey` where the secret is none for it.
    mutating func add(
        _ slot: KeyringDocument.Slot, as number: Int64, openedBy secret: borrowing UnlockSecret
    ) throws {
        var slot = slot
        guard let unlockKey = try secret.unlockKey(for: slot) else {
            throw VaultError(.wrongKey, "what was given is not what opens slot \(slot.number) of the backup")
        }
        slot.number = number
        slot.rootKey = try SealedValue.seal(
            rootKey.secret, key: unlockKey,
            associatedData: KeyringDocument.associatedData(.slot, vaultID: document.vaultID, number: number))
        try add(slot)
    }

    /// Puts a slot in the place of the one with its number: what opened that one opens it no more.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` where there is none.
    package mutating func replace(with slot: KeyringDocument.Slot) throws {
        try slot.checkLabel()
        document.slots[try index(ofSlot: slot.number)] = slot
    }

    /// Removes a slot.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` where there is none, or it is the last: nothing would open
    ///   the keyring then.
    package mutating func removeSlot(_ number: Int64) throws {
        let index = try index(ofSlot: number)
        guard document.slots.count > 1 else {
            throw VaultError(
                .invalidArgument, "slot \(number) is the only one, and nothing would open the vault; add another first")
        }
        document.slots.remove(at: index)
    }

    /// The number for a slot that is added: past the highest.
    var freeSlotNumber: Int64 { (document.slots.map(\.number).max() ?? 0) + 1 }

    /// The slot with a number.
    func slot(_ number: Int64) throws -> KeyringDocument.Slot { document.slots[try index(ofSlot: number)] }

    private func index(ofSlot number: Int64) throws -> Int {
        guard let index = document.slots.firstIndex(where: { $0.number == number }) else {
            throw VaultError(.invalidArgument, "the keyring has no slot \(number); keys slot list names those it has")
        }
        return index
    }
}

extension KeyringEdit {
    /// Puts a new root key, token key and key for receipts in the place of the old ones, seals everything else again,
    /// and adds a generation: the old root key opens nothing of the document any more, and signs nothing.
    ///
    /// - Parameters:
    ///   - secrets: what opens the slots that stay. A passphrase takes most of a second for each passphrase slot.
    ///   - dropsOthers: whether slots that none of them opens go.
    ///   - now: seconds since 1970.
    ///   - taken: numbers that generations had before, though a restored keyring may not know them.
    /// - Returns: the number of the new generation.
    /// - Throws: ``VaultError`` with code `wrongKey` where a secret opens no slot, `invalidArgument` where a slot would go
    ///   that may not.
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

    /// The slots that stay, with another root key in them.
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
    /// Adds a generation with a fresh key, and makes it the one that new resources use.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - taken: numbers that were given before, though a restored keyring may not know them. They come from outside, and
    ///     nothing is counted on from them: each is passed over.
    /// - Returns: its number: the next that is free above the highest that ever was.
    /// - Throws: ``VaultError`` with code `inUse` where there are as many generations as a keyring may hold.
    package mutating func addGeneration(now: Int64, avoiding taken: Set<Int> = []) throws -> Int {
        guard document.generations.count(where: { $0.key != nil }) < KeyringDocument.mostActive else {
            throw VaultError(
                .inUse,
                "the keyring holds \(KeyringDocument.mostActive) generations, the most there can be; run keys rewrap, then "
                    + "keys retire for the older ones")
        }
        var number = document.highestGeneration + 1
        while taken.contains(Int(number)) { number += 1 }
        let key = try seal(SecureRandom.key("generation key"), .generation, number)
        document.generations.append(.init(number: number, created: max(0, now), key: key, backups: 0))
        document.current = number
        return Int(number)
    }

    /// Takes the key of a generation out of the document. One that is retired already stays so.
    ///
    /// - Throws: ``VaultError`` with code `inUse` for the current generation, `invalidArgument` where there is none of
    ///   this number.
    package mutating func retireGeneration(_ number: Int) throws {
        guard number != document.current else { throw Self.currentGeneration(number) }
        guard !document.retired.contains(where: { $0.numbers.contains(number) }) else { return }
        guard let index = document.generations.firstIndex(where: { $0.number == number }) else {
            throw Self.unknownGeneration(number)
        }
        document.generations[index].key = nil
    }

    /// The generation that new resources use cannot go.
    package static func currentGeneration(_ number: Int) -> VaultError {
        VaultError(
            .inUse, "generation \(number) is the one that new resources use; run keys rotate, then keys rewrap, first")
    }

    /// No generation has this number.
    package static func unknownGeneration(_ number: Int) -> VaultError {
        VaultError(.invalidArgument, "the keyring has no generation \(number); keys list names those that it has")
    }
}

extension KeyringEdit {
    /// Does what an order says.
    ///
    /// - Throws: ``VaultError`` with code `wrongKey` where it was made without this keyring's root key, `olderKeyring`
    ///   where the keyring has changed since, `invalidArgument` where it cannot be.
    package mutating func carryOut(_ order: KeyringOrder) throws {
        guard order.isProved(by: rootKey.secret) else {
            throw VaultError(
                .wrongKey, "the order was not made with the vault's own keyring; name the keyring that its owner uses")
        }
        guard order.revision == document.revision else {
            throw VaultError(.olderKeyring, "the keyring has changed since the order was made; run the command again")
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
        VaultError(.invalidArgument, "the order says nothing that can be done to a keyring; correct it")
    }
}

extension KeyringEdit {
    /// Makes a backup the keyring that its vault takes.
    ///
    /// Playback addresses: each revision since may have revoked them once, so the epoch grows by as many.
    ///
    /// - Parameters:
    ///   - lastRevision: the highest that the vault has seen.
    ///   - retired: generations whose keys do not come back.
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
    /// Adds a fresh key that names resources.
    ///
    /// - Returns: its number: one more than the highest that there is.
    package mutating func addLocator() throws -> Int {
        let number = (document.locators.map(\.number).max() ?? 0) + 1
        let key = try seal(SecureRandom.key("locator key"), .locator, number)
        document.locators.append(.init(number: number, key: key))
        return Int(number)
    }

    /// Takes every key that names resources out of the document, but this one.
    package mutating func dropLocators(except number: Int) { document.locators.removeAll { $0.number != number } }
}

extension KeyringEdit {
    /// Notes that one more backup holds each generation that is active.
    mutating func countBackup() {
        for index in document.generations.indices where document.generations[index].key != nil {
            document.generations[index].backups += 1
        }
    }
}
