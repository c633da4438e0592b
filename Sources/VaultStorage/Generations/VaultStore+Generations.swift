import Synchronization
import VaultCrypto
import VaultModel

// Generations come and go by *Two files, one law*: a crash between leaves a key too many, never one too few. Only the
// owner does this, one act at a time.
extension VaultStore {
    /// Makes a new generation the current one: new resources use it from now on.
    ///
    /// - Returns: its number.
    package func addGeneration(noting log: AuditLog) throws -> Int {
        let taken = try takenGenerations()
        noteChange()
        return try log.change(.rotate) { try $0.addGeneration(now: now(), avoiding: taken) }
    }

    /// The numbers that the index has: a restored keyring may not know every one that was given.
    func takenGenerations() throws -> Set<Int> { Set(try index.generations().all) }

    /// Begins to wrap every resource key anew under the current generation; ``finishRewrap()`` belongs to its end.
    package func rewrap() throws -> Rewrap { try Rewrap(self) }

    /// Lets no old wrapped key stand in the index, its log and `catalog.backup`.
    ///
    /// - Throws: ``VaultError`` where one may: it is tried again every minute.
    package func finishRewrap() throws {
        try eraseKeyCopies(after: "every key is wrapped anew, but old ones")
    }

    /// Destroys a generation: the index lets go of it, then its key leaves the keyring. One that is gone stays gone; one
    /// that was broken off is finished.
    ///
    /// - Throws: ``VaultError`` with code `inUse` where something needs it, `invalidArgument` where there is none of this
    ///   number, `storage` or `owned` where an old key may still stand in the index or its log: then the key is still there.
    package func retire(_ number: Int, noting log: AuditLog) throws {
        guard number != keyring.currentGeneration else { throw KeyringEdit.currentGeneration(number) }
        guard !keyring.foldedGenerations.contains(where: { $0.contains(number) }) else { return }
        guard let record = keyring.generationRecords.first(where: { $0.number == number }) else {
            throw KeyringEdit.unknownGeneration(number)
        }
        guard !record.isRetired else { return }
        noteChange()
        try withDiskRoom { try index.removeGeneration(number) }
        try eraseKeyCopies(after: "nothing needs generation \(number) any more, but keys that it wrapped")
        try log.place.destroyCopies(of: keyring.vaultID)
        try log.change(.retire, generation: number) { try $0.retireGeneration(number) }
    }

    // MARK: Turning the generation

    /// Makes a new generation current, wraps every key anew under it, and destroys all others, so that nothing that they
    /// wrapped opens any more. What is begun is finished by ``finishTurn(noting:)``, after a crash too.
    ///
    /// - Returns: the generations that had to stay, because a key that they wrap does not open.
    package func turnGeneration(noting log: AuditLog) throws -> [Int] {
        let current = try addGeneration(noting: log)
        try withDiskRoom { try index.beginRetiring(keyring.activeGenerations.filter { $0 != current }) }
        return try finishTurn(noting: log)
    }

    /// Whether the end of a generation is decided, and not finished.
    package func isTurning() throws -> Bool { try !retiringGenerations().isEmpty }

    /// The generations whose end is decided: the index says so, or has let go of them already.
    package func retiringGenerations() throws -> [Int] {
        let known = try index.generations()
        return keyring.activeGenerations.filter { number in
            number != keyring.currentGeneration && (known.retiring.contains(number) || !known.all.contains(number))
        }
    }

    /// Finishes what ends generations and was begun: a turn, or the retirement of one.
    ///
    /// - Returns: as ``turnGeneration(noting:)``.
    package func finishTurn(noting log: AuditLog) throws -> [Int] {
        var rewrap = try rewrap()
        while try rewrap.step() {}
        try finishRewrap()
        if rewrap.done > 0 { try log.note(.rewrap, outcome: rewrap.outcome, resources: Int64(rewrap.resources)) }
        return try retiringGenerations().filter { number in
            do {
                try retire(number, noting: log)
                return false
            } catch let error as VaultError where error.code == .inUse {
                return true
            }
        }
    }
}
