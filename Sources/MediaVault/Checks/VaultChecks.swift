import VaultCache
import VaultCrypto
package import VaultModel
import VaultStorage

/// Checks of a vault: whether its bytes are sound, and whether its titles will play without the network.
public struct VaultChecks: Sendable {
    let loaders: LoaderTable
    let downloads: DownloadQueue
    let space: StorageSpace
    let access: AccessGrants
    let backgroundTasks: BackgroundTasks

    private var store: VaultStore { loaders.environment.store }
    private var pool: BlockingPool { loaders.environment.pool }
    private var quota: QuotaEnforcer { space.quota }

    /// Opens every block of every segment in the index, and looks for files that are not in the index.
    ///
    /// A reader of the vault can verify, but only the owner can repair. A repair invalidates damaged ranges, and
    /// fetches only these again, of the same representation. Files that are not in the index are adopted, or moved to
    /// `quarantine/`. Playback continues meanwhile.
    ///
    /// - Parameters:
    ///   - options: how much to check, how fast, and whether to repair damage.
    ///   - references: the resources to check, where a title includes all its parts; empty to check everything.
    /// - Returns: the progress, reported at most ten times a second; the last element contains the report. Iterating
    ///   throws ``VaultError`` if the index cannot be read, and with code `notHeld` if the vault does not know one of
    ///   the resources.
    public func verify(
        _ options: VerifyOptions = VerifyOptions(), of references: [MediaReference] = []
    ) -> ProgressSequence<VerifyProgress> {
        ProgressSequence(among: backgroundTasks) { [loaders] tell in
            try options.check(isOwner: loaders.environment.store.isOwner)
            var verifier = Verifier(loaders: loaders, options: options, tell: tell)
            try await verifier.run(references)
        }
    }

    /// Checks whether titles are complete, open with this vault's keys, and will play without the network until a given
    /// time. It checks the pinned titles, and all downloaded titles if the options include them.
    ///
    /// For each title, this checks that all files exist, and opens the first and last block of at most eight of them.
    /// The age of a title does not matter: held bytes play without the network, however stale they are, because an
    /// unreachable origin refuses nothing. No origin is contacted, and nothing is changed, so a reader of the vault can
    /// check, too.
    ///
    /// - Parameter options: the time until which titles must play, how recently the vault must have been verified, and
    ///   which titles to check.
    /// - Throws: ``VaultError`` with code `invalidArgument` if an option is out of bounds; `storage` or `integrity` if
    ///   the index cannot be read; `closed` if the vault is closed.
    public func readiness(_ options: ReadinessOptions = ReadinessOptions()) async throws -> ReadinessReport {
        let (store, now) = (store, store.index.now())
        try options.check()
        let limits = try await quota.limitsInForce()
        let inspection = ReadinessInspection(
            loaders: loaders, queue: downloads, options: options,
            evictsDownloads: limits.evictsDownloads == true && limits.size != nil)
        let tally = try await inspection.run()
        var whole = WholeFacts()
        (whole.freeBytes, whole.minFree) = (await space.diskSpace()?.free, limits.free)
        whole.access = (access.issuedLinks + access.issuedTokens).filter(\.isForPlayers)
        let running = access.keys.lock.act
        whole.keyOperation = try await pool.run {
            try running ?? Shreds(store).unfinishedOperation()
                ?? (store.index.settings().resealOrder == nil ? nil : .reseal)
        }
        whole.verification = try await pool.run {
            try store.lastVerification().map { WholeFacts.Verification(time: $0.time, isSound: $0.isSound) }
        }
        return tally.report(whole, options, now: now)
    }

    /// Returns when the whole vault was last verified, in seconds since 1970, and whether no damage was left; nil if
    /// the vault was never verified, or if the index cannot be read.
    public func lastVerification() async -> (time: Int64, isSound: Bool)? {
        let store = store
        return try? await pool.run { try store.lastVerification().map { ($0.time, $0.isSound) } }
    }

    /// Returns a sequence that reports once if keys could not be locked in memory, with the reason and a remedy.
    ///
    /// A failure that is already known is reported at once; a later one is reported when it occurs. Then the sequence
    /// ends. All vaults of a process share the memory for keys.
    public func memoryWarnings() -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        let telling = Task {
            for await refusal in MemoryLock.shared.refusals() { continuation.yield("\(refusal)") }
            continuation.finish()
        }
        continuation.onTermination = { _ in telling.cancel() }
        return stream
    }

    /// Registers a closure to call each time a resource's bytes fail their check when they are read, resealed or
    /// verified. The closure must not block.
    ///
    /// - Returns: the id for ``stopListeningForDamage(_:)``.
    package func listenForDamage(_ tell: @escaping @Sendable (ResourceID) -> Void) -> Int {
        loaders.environment.damage.add(tell)
    }

    /// Removes a closure that ``listenForDamage(_:)`` registered.
    package func stopListeningForDamage(_ listener: Int) { loaders.environment.damage.remove(listener) }
}
