import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

/// Administers a vault's keys: generations, slots, backups, resealing, shredding and the audit log.
///
/// Each change is a key operation, and only one runs at a time. ``Vault/keys`` is the key administration of an open
/// vault.
public final class KeyAdministration: Sendable {
    let loaders: LoaderTable
    /// The download queue, from which shredded resources are removed.
    let downloads: DownloadQueue
    /// Held while a subscription runs or is changed.
    let subscriptionChanges: AsyncLock
    /// The audit log, which gets a receipt for each key operation.
    let log: AuditLog
    /// The background tasks that must end before the store closes.
    let tasks: BackgroundTasks
    /// Allows one key operation at a time.
    package let lock = KeyOperationLock()
    /// The schedule for resuming key operations that a previous owner left unfinished.
    private let resumeSchedule = Locked(ResumeSchedule())

    init(
        loaders: LoaderTable, downloads: DownloadQueue, subscriptionChanges: AsyncLock, log: AuditLog,
        tasks: BackgroundTasks
    ) {
        self.loaders = loaders
        self.downloads = downloads
        self.subscriptionChanges = subscriptionChanges
        self.log = log
        self.tasks = tasks
    }

    var store: VaultStore { loaders.environment.store }
    var pool: BlockingPool { loaders.environment.pool }

    // MARK: Generations

    /// Returns the state of the keys: which generations resources still need, and the progress of unfinished key
    /// operations.
    ///
    /// - Throws: ``VaultError`` if the index cannot be read.
    public func report() async throws -> KeyReport {
        let (store, act) = (store, lock.act)
        return try await pool.run { try KeyReport(store, act: act) }
    }

    /// Creates a new generation for new resources. Resources that are already held stay under the older generations
    /// until they are rewrapped.
    ///
    /// - Returns: the new state of the keys, including what the older generations still open.
    /// - Throws: ``VaultError`` with code `busy` if another key operation is running, `owned` if this process is not
    ///   the owner, or `storage` or `diskFull` if the keyring or the index cannot be written.
    public func rotate() async throws -> KeyReport {
        try await perform(.rotate) { store, log in
            _ = try Generations(store).add(noting: log)
            return try KeyReport(store, act: nil)
        }
    }

    /// Rewraps every resource key under the current generation. No media is read or written.
    ///
    /// - Returns: the progress; the last element contains the report. If the operation ends early, the keys rewrapped
    ///   so far stay rewrapped, and the next run continues with the others. Iterating throws ``VaultError`` with code
    ///   `busy` if another key operation is running, `owned` if this process is not the owner, or `storage` if the
    ///   index cannot be written.
    public func rewrap() -> ProgressSequence<RewrapProgress> {
        ProgressSequence(among: tasks) { [self] tell in try await rewrap(tell) }
    }

    /// Destroys the key of a generation that nothing needs any more. Does nothing if the generation is already retired.
    ///
    /// - Returns: the new state of the keys, which shows that the generation is retired and that nothing needs it.
    /// - Throws: ``VaultError`` with code `inUse`, naming some of the titles, if titles still need the generation;
    ///   `invalidArgument` if there is no generation with this number; `storage` if the index's write-ahead log cannot
    ///   be emptied, in which case the key still exists; `busy` if another key operation is running; `owned` if this
    ///   process is not the owner.
    public func retire(_ number: Int) async throws -> KeyReport {
        try await perform(.retire) { store, log in
            do {
                try Generations(store).retire(number, noting: log)
            } catch let error as VaultError where error.code == .inUse {
                throw GenerationUsers.naming(number, in: store, error)
            }
            return try KeyReport(store, act: nil)
        }
    }

    // MARK: Root key and links

    /// Creates a new root key, token key and generation, in one write of the keyring.
    ///
    /// The old root key no longer opens the keyring. All playback links and tokens become invalid. What is already
    /// stored stays under the older generations until it is rewrapped.
    ///
    /// - Parameters:
    ///   - unlocks: the unlock methods of the slots to keep. Their secrets are needed to seal the new root key.
    ///   - droppingOtherSlots: whether to remove the slots that none of these methods opens.
    /// - Returns: the new state of the keys.
    /// - Throws: ``VaultError`` with code `wrongKey` if one of the methods opens no slot; `invalidArgument`, with the
    ///   slot's name, if a slot that must not be dropped would be locked out; `busy`, `owned`, `storage`, `diskFull`;
    ///   any error from reading the secrets.
    public func rotateRoot(unlockedBy unlocks: [Unlock], droppingOtherSlots: Bool = false) async throws -> KeyReport {
        try await perform(.rotateRoot) { store, log in
            let secrets = try unlocks.map { SharedSecret(try $0.secret()) }
            _ = try Generations(store).renewRoot(openedBy: secrets, droppingOthers: droppingOtherSlots, noting: log)
            return try KeyReport(store, act: nil)
        }
    }

    /// Revokes all playback links and tokens permanently, even across restarts. Responses that have begun continue. New
    /// links can be created as before.
    ///
    /// This rewrites the keyring file, and a copy of the older file no longer opens the vault.
    ///
    /// - Throws: ``VaultError`` with code `owned` if this process is not the owner; `storage`, `tamperedKeyring` or
    ///   `olderKeyring` if the keyring file cannot be read or written, or is not the one that was opened; `busy` if a
    ///   key operation is running.
    public func revokeLinks() async throws {
        try await perform(.revokeLinks) { _, log in
            try log.change(.revokeLinks) { $0.revokeTokens() }
        }
    }

    // MARK: Operations

    /// Calls a closure with each new receipt of a key operation, until the listener is removed with
    /// ``stopListening(_:)``.
    ///
    /// - Returns: the listener's number.
    package func listen(_ tell: @escaping @Sendable (Receipt) -> Void) -> Int { log.listen(tell) }

    package func stopListening(_ listener: Int) { log.stopListening(listener) }

    /// When the current generation was created, in seconds since 1970; nil once the keys are wiped.
    package var currentGenerationCreated: Int64? {
        let current = store.keyring.currentGeneration
        return store.keyring.generationRecords.last { $0.number == current }?.created
    }

    /// How the keyring was unlocked: the method and the slot's number.
    package var unlocked: (method: String, slot: Int) {
        (store.keyring.unlockedBy.rawValue, Int(store.keyring.unlockedSlot))
    }

    /// Runs a key operation while no other one is running. `body` changes the store and writes the receipt, and may
    /// block.
    func perform<Result: Sendable>(
        _ act: Receipt.Act, _ body: @escaping @Sendable (VaultStore, AuditLog) throws -> Result
    ) async throws -> Result {
        try store.requireOwner(to: "changes its keys")
        let (store, log) = (store, log)
        return try await lock.exclusively(act) {
            try await pool.run { try body(store, log) }
        }
    }

    /// Resumes the key operations that a previous owner left unfinished: shreds first, then a reseal.
    ///
    /// The work begins a moment after the vault was opened, so a short-lived command leaves it to the next owner. A
    /// requested operation takes precedence over a resumed reseal.
    func resumeUnfinished(now: ContinuousClock.Instant) {
        guard resumeSchedule.withLock({ $0.begins(now: now) }) else { return }
        _ = tasks.begin { [weak self] in
            guard let self else { return }
            do {
                try Task.checkCancellation()
                let store = store
                // First check without taking the lock, so that other key operations are not delayed needlessly.
                if let act = try await pool.run({ try Shreds(store).unfinishedOperation() }) {
                    try await lock.exclusively(act) { _ = try await self.finishShreds() }
                }
                try await resumeReseal()
                resumeSchedule.withLock { $0.finish() }
            } catch let error where error is CancellationError || (error as? VaultError)?.code == .busy {
                resumeSchedule.withLock { $0.giveWay() }
            } catch {
                // The next key operation that a caller requests will throw the error.
                resumeSchedule.withLock { $0.fail(now: .now) }
            }
        }
    }

    /// Prevents new operations and waits until the running one has ended.
    func end() async { await lock.end() }
}

extension KeyAdministration {
    /// Rewraps every resource key, in small transactions so that playback is not blocked.
    func rewrap(_ tell: (RewrapProgress) -> Void) async throws {
        try store.requireOwner(to: "changes its keys")
        let (store, log) = (store, log)
        try await lock.exclusively(.rewrap) {
            var rewrap = try await pool.run { try Generations(store).rewrap() }
            tell(RewrapProgress(keys: 0, total: rewrap.total, report: nil))
            var isUnfinished = true
            while isUnfinished {
                try Task.checkCancellation()
                let step = rewrap
                (rewrap, isUnfinished) = try await pool.run {
                    var step = step
                    let isUnfinished = try step.step()
                    return (step, isUnfinished)
                }
                tell(RewrapProgress(keys: rewrap.done, total: rewrap.total, report: nil))
            }
            let (outcome, resources) = (rewrap.outcome, Int64(rewrap.resources))
            try await pool.run {
                try Generations(store).finishRewrap()
                try log.note(.rewrap, outcome: outcome, resources: resources)
            }
            let current = store.keyring.currentGeneration
            let report = RewrapReport(
                generation: current, keys: rewrap.done, unopened: rewrap.unopened,
                older: store.keyring.activeGenerations.filter { $0 != current })
            tell(RewrapProgress(keys: rewrap.done, total: rewrap.total, report: report))
        }
    }
}
