import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

/// Administers a vault's keys: generations, slots, backups, resealing, shredding and the audit log.
///
/// Each change is a key operation, and only one runs at a time. ``Vault/keys`` is the key administration of an open
/// vault.
public final class KeyAdministration: Sendable {
    let environment: KeyOperationEnvironment
    /// The key operations that a previous owner left unfinished.
    let unfinished: UnfinishedOperations

    init(_ environment: KeyOperationEnvironment) {
        self.environment = environment
        unfinished = UnfinishedOperations(environment)
    }

    private var store: VaultStore { environment.store }
    /// Allows one key operation at a time.
    package var lock: KeyOperationLock { environment.lock }

    // MARK: Generations

    /// Returns the state of the keys: which generations resources still need, and the progress of unfinished key
    /// operations.
    ///
    /// - Throws: ``VaultError`` if the index cannot be read.
    public func report() async throws -> KeyReport {
        let (store, act) = (store, lock.act)
        return try await environment.pool.run { try KeyReport(store, act: act) }
    }

    /// Creates a new generation for new resources. Resources that are already held stay under the older generations
    /// until they are rewrapped.
    ///
    /// - Returns: the new state of the keys, including what the older generations still open.
    /// - Throws: ``VaultError`` with code `busy` if another key operation is running, `owned` if this process is not
    ///   the owner, or `storage` or `diskFull` if the keyring or the index cannot be written.
    public func rotate() async throws -> KeyReport {
        try await environment.perform(.rotate) { store, log in
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
        let environment = environment
        return ProgressSequence(among: environment.tasks) { tell in
            try await RewrapOperation(environment: environment).run(tell)
        }
    }

    /// Destroys the key of a generation that nothing needs any more. Does nothing if the generation is already retired.
    ///
    /// - Returns: the new state of the keys, which shows that the generation is retired and that nothing needs it.
    /// - Throws: ``VaultError`` with code `inUse`, naming some of the titles, if titles still need the generation;
    ///   `notHeld` if there is no generation with this number; `storage` if the index's write-ahead log cannot
    ///   be emptied, in which case the key still exists; `busy` if another key operation is running; `owned` if this
    ///   process is not the owner.
    public func retire(_ number: Int) async throws -> KeyReport {
        try await environment.perform(.retire) { store, log in
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
        try await environment.perform(.rotateRoot) { store, log in
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
        try await environment.perform(.revokeLinks) { _, log in
            try log.change(.revokeLinks) { $0.revokeTokens() }
        }
    }

    /// Replaces the vault's locator key and recomputes every resource id.
    ///
    /// Afterwards, the old key no longer reveals whether the vault has a given URL. If the change is interrupted,
    /// another call finishes it.
    ///
    /// Open readers and downloads end with code `removed`, and opening a resource during the change fails with code
    /// `busy`. Afterwards, every resource is found by its URL as before. If resources are stored for single users, all
    /// playback links and tokens become invalid.
    ///
    /// - Returns: the new state of the keys.
    /// - Throws: ``VaultError`` with code `integrity` if the settings fail authentication, or if some titles do, in
    ///   which case these keep their old ids while all others have new ones; `busy` if another key operation is
    ///   running; `owned` if this process is not the owner; `storage`, `diskFull`.
    public func changeLocator() async throws -> KeyReport {
        try await ChangeLocatorOperation(environment: environment).run()
    }

    // MARK: Titles

    /// Reseals resources under new keys, in case a resource key has leaked. Titles are resealed with all their parts.
    ///
    /// The resources most at risk are resealed first: those of an interrupted reseal, and then those under the oldest
    /// generation. Among these, the most recently read go first, because their keys were in memory last. A reseal needs
    /// free space for one segment. Playback continues. A reseal begins only after running imports have ended.
    ///
    /// Resealing does not help against attackers who have a copy of the old segments and their key. Nor does it help
    /// while attackers know the keyring that wraps the new keys, so rotate, rewrap and retire first.
    ///
    /// - Parameters:
    ///   - references: the resources to reseal; if empty, everything that the vault holds.
    ///   - bytesPerSecond: the maximum number of plaintext bytes per second; nil for no limit.
    /// - Returns: the progress, reported at most ten times a second; the last element contains the report. Leaving the
    ///   sequence interrupts the reseal. Resealed segments then stay resealed, and the vault records what is left, and
    ///   continues when it is opened again or when a reseal is requested again. Iterating throws ``VaultError``:
    ///   `owned` if this process is not the owner, `busy` if another key operation is running, `notHeld` if the vault
    ///   does not know a resource, `diskFull`, `storage`.
    public func reseal(
        _ references: [MediaReference] = [], bytesPerSecond: Int64? = nil
    ) -> ProgressSequence<ResealProgress> {
        let environment = environment
        return ProgressSequence(among: environment.tasks) { tell in
            try await ResealOperation(environment: environment).run(
                references, bytesPerSecond: bytesPerSecond, tell: tell)
        }
    }

    /// Removes resources, and titles with all their parts, so that no key in the keyring opens what remains of them.
    ///
    /// The resources are removed from the download queue, their keys are deleted, their segments are removed, and their
    /// readers end with code `removed`. The generation is then replaced: a new one is created, all other keys are
    /// rewrapped under it, and the generations that wrapped the deleted keys are destroyed. After that, the keyring
    /// cannot open a wrapped key that remains in freed blocks of the drive or in a copy of the index.
    ///
    /// An earlier copy of the keyring, together with its key or passphrase, still opens an earlier copy of the folder,
    /// because a shred does not affect copies. The audit log gets a receipt for each resource.
    ///
    /// An interrupted shred is finished after the vault is opened again.
    ///
    /// - Parameters:
    ///   - references: the resources to remove. Each is tried, and failures are listed in the report.
    ///   - quick: whether to keep the generation until it is rotated and retired; receipts then say *removed*.
    /// - Throws: ``VaultError``: `owned` if this process is not the owner, `busy` if another key operation is running,
    ///   `storage` or `diskFull` if traces of deleted data may remain, in which case the next shred, or the next
    ///   opening of the vault, finishes the work.
    public func shred(_ references: [MediaReference], quick: Bool = false) async throws -> ShredReport {
        try await ShredOperation(environment: environment).run(references, isQuick: quick)
    }

    // MARK: After a leak

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
        ProgressSequence(among: environment.tasks) { [self] tell in
            let operations = OwnKeyOperations(keys: self, unlocks: unlocks, dropsOtherSlots: droppingOtherSlots)
            _ = try await operations.carryOut(resuming ? operations.resumed(runbook) : runbook) { tell($0) }
        }
    }

    // MARK: Slots

    /// Returns the vault id, revision and slots that the keyring file states.
    ///
    /// - Throws: ``VaultError`` with code `storage`, `noVault`, `damagedKeyring` or `tamperedKeyring`.
    public func summary() async throws -> KeyringSummary { try await orders.summary() }

    /// Adds a slot to the keyring.
    ///
    /// - Throws: ``VaultError`` with code `owned` if this process is not the owner, `invalidArgument` if the slot is
    ///   not possible, `inUse` if the keyring already has 16 slots, or `busy` if another key operation is running; any
    ///   error from reading the secret.
    public func addSlot(_ way: NewSlot) async throws {
        try await carryOut(orders.adding(way))
    }

    /// Replaces a slot with one that has a new passphrase or another method.
    ///
    /// - Parameters:
    ///   - number: the slot to replace; nil for the one that opened the keyring.
    ///   - way: the slot that replaces it.
    /// - Throws: the errors of ``addSlot(_:)``.
    public func replaceSlot(_ number: Int? = nil, with way: NewSlot) async throws {
        try await carryOut(orders.replacing(number, with: way))
    }

    /// Removes a slot from the keyring.
    ///
    /// The last slot cannot be removed. Without `force`, neither can the only slot known to open: a slot that opened
    /// this vault, or that this process added or changed, must remain.
    ///
    /// - Parameters:
    ///   - number: the slot's number, as in ``KeyringSlot/number``.
    ///   - force: whether to remove the slot even if no other slot is known to open.
    /// - Throws: the errors of ``addSlot(_:)``; ``VaultError`` with code `inUse` if removing the slot needs `force`.
    public func removeSlot(_ number: Int, force: Bool = false) async throws {
        try await carryOut(orders.removing(number, isForced: force))
    }

    /// Writes a copy of the keyring that only one passphrase opens. The backup count of each generation in the copy
    /// grows by one.
    ///
    /// - Parameters:
    ///   - file: the copy's absolute path. The file has mode 0600, and is written completely or not at all.
    ///   - way: the slot for the passphrase.
    /// - Throws: the errors of ``addSlot(_:)``; ``VaultError`` with code `invalidArgument` if the file already exists,
    ///   or if the slot is not for a passphrase.
    public func backUp(to file: String, for way: NewSlot) async throws {
        try way.requirePassphrase()
        try await orders.backUp(to: file, for: way) { try await carryOut($0) }
    }

    /// Carries out an order created by a process that has unlocked the keyring.
    ///
    /// - Throws: ``VaultError`` with code `owned` if this process is not the owner, `busy` if another key operation is
    ///   running, `wrongKey` if the order was created without the keyring, `olderKeyring` if the keyring has changed
    ///   since the order was created, or `invalidArgument` if the order is not possible.
    package func carryOut(_ order: KeyringOrder) async throws {
        try await environment.perform(order.act.receipt) { _, log in
            try log.change(order.act.receipt) { try $0.carryOut(order) }
        }
    }

    var orders: KeyringOrderIssuer {
        KeyringOrderIssuer(
            keyring: store.keyring, path: environment.log.place.path, fileSystem: store.fileSystem,
            pool: environment.pool)
    }

    // MARK: State

    /// Calls a closure with each new receipt of a key operation, until the listener is removed with
    /// ``stopListening(_:)``.
    ///
    /// - Returns: the listener's number.
    package func listen(_ tell: @escaping @Sendable (Receipt) -> Void) -> Int { environment.log.listen(tell) }

    package func stopListening(_ listener: Int) { environment.log.stopListening(listener) }

    /// When the current generation was created, in seconds since 1970; nil once the keys are wiped.
    package var currentGenerationCreated: Int64? {
        let current = store.keyring.currentGeneration
        return store.keyring.generationRecords.last { $0.number == current }?.created
    }

    /// How the keyring was unlocked: the method and the slot's number.
    package var unlocked: (method: String, slot: Int) {
        (store.keyring.unlockedBy.rawValue, Int(store.keyring.unlockedSlot))
    }
}
