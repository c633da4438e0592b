import GRDB
import VaultModel

// Changes of the index, and the counts of files and bytes.
extension VaultStore {
    // MARK: Changes

    /// Changes rows of the index in one transaction, and counts the changes as not yet in `catalog.backup`.
    ///
    /// If the disk is full, it evicts something that was only played, and tries again once.
    ///
    /// - Parameters:
    ///   - count: the number of changes.
    ///   - isVital: as for ``withDiskSpace(orReserve:_:)``.
    ///   - isDurable: whether the changes must survive a power loss.
    func mutate<Result>(
        count: Int = 1, isVital: Bool = false, isDurable: Bool = true,
        _ body: (VaultIndex, Database) throws -> Result
    ) throws -> Result {
        let result = try withDiskSpace(orReserve: isVital) {
            try isDurable ? index.write { try body(index, $0) } : index.writeWithoutSync { try body(index, $0) }
        }
        // The changes are counted last, because a backup written in between would lack them, but reset their count.
        noteChange(count)
        return result
    }

    /// Runs functions of the index that change it, each in a transaction of its own, and counts the changes as not yet
    /// in `catalog.backup`.
    ///
    /// - Parameters:
    ///   - count: the number of changes.
    ///   - isVital: as for ``withDiskSpace(orReserve:_:)``.
    func mutate<Result>(
        count: Int = 1, isVital: Bool = false, _ body: (VaultIndex) throws -> Result
    ) throws -> Result {
        // A failure may have followed the first of several transactions.
        defer { noteChange(count) }
        return try withDiskSpace(orReserve: isVital) { try body(index) }
    }

    /// Runs work on the index. If the disk is full, evicts something and tries again once.
    ///
    /// - Parameter isVital: whether to give up the reserve first, because the work frees space or nothing works without
    ///   it.
    func withDiskSpace<Result>(orReserve isVital: Bool = false, _ body: () throws -> Result) throws -> Result {
        try quota.withDiskSpace(orReserve: isVital, body)
    }

    /// Records that there are changes that `catalog.backup` does not have yet.
    package func noteChange(_ count: Int = 1) { catalogBackup.noteChanges(count) }

    /// Changes the vault's settings.
    package func changeSettings(_ change: (inout VaultSettings) throws -> Void) throws {
        try mutate(isVital: true) { index, db in try index.changeSettings(db, change) }
        erasure.carryOutIfDue()
    }

    // MARK: Counts

    /// Counts the disk space of the existing files.
    ///
    /// The sizes come from the index. Only files whose rows do not state their size are examined.
    func beginCounting() throws {
        var measured: [SegmentID: Int64] = [:]
        var indexed = try SegmentRows(index).fileBytes()
        let rows = SegmentRows(index)
        for (segment, _) in try rows.openSegments() {
            indexed -= segment.diskSize
            measured[segment.id] = removal.diskSize(of: segment.id)
        }
        for id in try rows.segmentsPendingDeletion(limit: .max) { measured[id] = removal.diskSize(of: id) }
        quota.account.begin(indexed: indexed, measured: measured)
    }

    /// Returns the disk space of segment files, which a reader of the vault takes from the index.
    package func bytesUsed() throws -> Int64 { isOwner ? quota.used : try SegmentRows(index).fileBytes() }

    /// Counts bytes that an origin sent. The count is committed with the next change.
    package func countFetched(_ bytes: Int64) {
        fetched.add(bytes)
        work.fetched.count(bytes)
    }

    /// Returns the number of bytes that origins have sent since the vault was created, including those not yet
    /// committed.
    package func bytesFetched() throws -> Int64 {
        let committed = try index.settings().bytesFetched
        return isOwner ? fetched.total : committed
    }

    /// Runs a commit that includes the count of fetched bytes.
    func countingFetched(_ commit: (Int64) throws -> Void) throws {
        // The backup also has the row with this count, so the backup is now out of date.
        if try fetched.recording(commit) { noteChange() }
    }

    /// Commits the count of fetched bytes, unless a segment's commit has already included it.
    package func flushCounters() throws {
        if fetched.isDue { try countingFetched { try index.countFetched($0) } }
    }

    // MARK: Verification

    /// Records that the whole vault was verified.
    ///
    /// If the settings cannot be written, for example by a reader of the vault, the record is kept in memory until the
    /// store is closed.
    package func noteVerification(isSound: Bool) {
        let record = VerificationRecord(time: index.now(), isSound: isSound)
        verification.withLock { $0 = record }
        if isOwner { try? changeSettings { $0.verification = record } }
    }

    /// Returns when the whole vault was last verified, and the result; nil if it never was.
    package func lastVerification() throws -> VerificationRecord? {
        try verification.withLock(\.self) ?? index.settings().verification
    }
}
