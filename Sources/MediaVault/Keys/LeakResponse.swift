import VaultModel

extension KeyAdministration {
    /// Makes a copied keyring worthless: creates a new root key, rewraps every key, and destroys the older generations.
    ///
    /// - Parameters:
    ///   - unlocks: the unlock methods of the slots to keep. Their secrets are needed to seal the new root key.
    ///   - droppingOtherSlots: whether to remove the slots that none of these methods opens.
    /// - Returns: the progress; the last element contains the outcome of each step. Iterating throws the errors of
    ///   ``rotateRoot(unlockedBy:droppingOtherSlots:)`` and ``rewrap()``. Errors of ``retire(_:)`` are not thrown, but
    ///   are part of the last element.
    public func revokeRoot(
        unlockedBy unlocks: [Unlock], droppingOtherSlots: Bool = false
    ) -> ProgressSequence<RunbookProgress> {
        carryOut(.rootRevocation, unlockedBy: unlocks, droppingOtherSlots: droppingOtherSlots)
    }

    /// Makes leaked keys worthless, as far as the vault can: creates a new root key, rewraps every key, reseals every
    /// resource, destroys the older generations, and checks the receipts. Playback continues.
    ///
    /// Keys that do not open and generations that cannot be destroyed are left as they are and reported; the other work
    /// continues. After any other failure, call this function again; set `resuming` if the rotation is already done.
    ///
    /// - Parameters:
    ///   - unlocks: the unlock methods of the slots to keep. If nil, the root key is kept: the response only creates a
    ///     generation and revokes all links, which is enough if only resource keys leaked.
    ///   - droppingOtherSlots: whether to remove the slots that none of these methods opens.
    ///   - reseals: whether resources get new keys. If not, anyone who has a resource key can still open the resource's
    ///     files.
    ///   - bytesPerSecond: the maximum number of bytes resealed per second; nil for no limit.
    ///   - resuming: whether to continue after a rotation that is already done.
    /// - Returns: the progress; the last element contains the outcome of each step. Iterating throws the errors of the
    ///   operations; ``VaultError`` with code `invalidArgument` if there is no rotation after which to resume, or
    ///   `integrity` if the audit log has faults.
    public func respondToLeak(
        unlockedBy unlocks: [Unlock]?, droppingOtherSlots: Bool = false, reseals: Bool = true,
        bytesPerSecond: Int64? = nil, resuming: Bool = false
    ) -> ProgressSequence<RunbookProgress> {
        let runbook = KeyRunbook.leakResponse(
            keepsRoot: unlocks == nil, reseals: reseals, bytesPerSecond: bytesPerSecond)
        return carryOut(
            runbook, unlockedBy: unlocks ?? [], droppingOtherSlots: droppingOtherSlots, resuming: resuming)
    }

    private func carryOut(
        _ runbook: KeyRunbook, unlockedBy unlocks: [Unlock], droppingOtherSlots: Bool, resuming: Bool = false
    ) -> ProgressSequence<RunbookProgress> {
        ProgressSequence(among: tasks) { [self] tell in
            let operations = OwnKeyOperations(keys: self, unlocks: unlocks, dropsOtherSlots: droppingOtherSlots)
            _ = try await operations.carryOut(resuming ? operations.resumed(runbook) : runbook) { tell($0) }
        }
    }
}

/// The key operations of a vault that this process owns.
private struct OwnKeyOperations: KeyOperations {
    let keys: KeyAdministration
    let unlocks: [Unlock]
    let dropsOtherSlots: Bool

    func generations() async throws -> [Int] {
        try await keys.report().generations.filter { $0.state != .retired }.map(\.number)
    }

    func rotate() async throws { _ = try await keys.rotate() }

    func rotateRoot() async throws {
        _ = try await keys.rotateRoot(unlockedBy: unlocks, droppingOtherSlots: dropsOtherSlots)
    }

    func revokeLinks() async throws { try await keys.revokeLinks() }

    func rewrap(_ tell: Tell) async throws -> Int {
        var unopened = 0
        for try await step in keys.rewrap() {
            unopened = step.report?.unopened ?? unopened
            try await tell(Int64(step.keys), Int64(step.total))
        }
        return unopened
    }

    func reseal(bytesPerSecond: Int64?, _ tell: Tell) async throws -> ResealReport {
        var report = ResealReport(subjects: [])
        for try await step in keys.reseal(bytesPerSecond: bytesPerSecond) {
            report = step.report ?? report
            try await tell(step.bytes, step.bytesTotal)
        }
        return report
    }

    func retire(_ generation: Int) async throws { _ = try await keys.retire(generation) }

    func audit() async throws -> (receipts: [Receipt], isSound: Bool) {
        let report = try await keys.audit()
        return (report.receipts, report.isSound)
    }
}
