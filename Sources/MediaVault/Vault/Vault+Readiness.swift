import VaultModel
import VaultStorage

// Checks whether titles will play without the network.
extension Vault {
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
        (whole.freeBytes, whole.minFree) = (await diskSpace()?.free, limits.free)
        whole.access = (issuedLinks + issuedTokens).filter(\.isForPlayers)
        let running = keys.lock.act
        whole.keyOperation = try await pool.run {
            try running ?? Shreds(store).unfinishedOperation()
                ?? (store.index.settings().resealOrder == nil ? nil : .reseal)
        }
        whole.verification = try await pool.run {
            try store.lastVerification().map { WholeFacts.Verification(time: $0.time, isSound: $0.isSound) }
        }
        return tally.report(whole, options, now: now)
    }
}
