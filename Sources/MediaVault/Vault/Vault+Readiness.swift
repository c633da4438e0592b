import VaultModel
import VaultStorage

// Whether titles will play without the network.
extension Vault {
    /// Finds out whether each pinned title is complete, opens with this vault's keys, and will play without the network
    /// until a given time.
    ///
    /// Of each title, all files are looked for, and at most eight are opened at their first and last block. That takes
    /// no account of how old a title is: what is held plays without the network, however stale it is, because an origin
    /// that cannot be reached refuses nothing. No origin is asked, and nothing is changed; a reader can do it, too.
    ///
    /// - Parameter options: until when, how lately the vault must have been verified, and which titles are meant.
    /// - Throws: ``VaultError`` with code `invalidArgument` if an option is out of bounds; `storage` or `integrity` if
    ///   the index cannot be read; `closed`.
    public func readiness(_ options: ReadinessOptions = ReadinessOptions()) async throws -> ReadinessReport {
        let (store, now) = (store, store.now())
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
            try running ?? store.unfinishedOperation()
                ?? (store.index.settings().resealOrder == nil ? nil : .reseal)
        }
        whole.verification = try await pool.run {
            try store.lastVerification().map { WholeFacts.Verification(time: $0.time, isSound: $0.isSound) }
        }
        return tally.report(whole, options, now: now)
    }
}
