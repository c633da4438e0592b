import VaultCrypto
package import VaultModel

// Counts files and bytes, backs up the catalog, and finishes what an earlier owner left unfinished.
extension VaultStore {
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

    /// Counts bytes that were delivered but not stored.
    package func countPassedThrough(_ bytes: Int64) { work.passedThrough.count(bytes) }

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
        // The count is in a row that the backup has, too, so the backup is now behind.
        if try fetched.recording(commit) { noteChange() }
    }

    /// Commits the count of fetched bytes, unless a segment's commit has already included it.
    package func flushCounters() throws {
        if fetched.isDue { try countingFetched { try index.countFetched($0) } }
    }

    /// Records that resources were read in this hour.
    package func touch(_ ids: [ResourceID]) throws {
        if isOwner, !ids.isEmpty { try index.resources.touch(ids, now: now()) }
    }

    /// Sets the last-access times from `first` through `last`, which came from a wrong wall clock, to `time`.
    package func correctAccessTimes(from first: Int64, through last: Int64, to time: Int64) throws {
        if isOwner { try index.resources.moveAccessTimes(from: first, through: last, to: time) }
    }

    /// Runs work on the index. If the disk is full, evicts something and tries once more.
    ///
    /// - Parameter isVital: whether to give up the reserve first, because the work frees space or nothing works without
    ///   it.
    func withDiskSpace<Result>(orReserve isVital: Bool = false, _ body: () throws -> Result) throws -> Result {
        try quota.withDiskSpace(orReserve: isVital, body)
    }

    // MARK: Backup and erasure

    /// Records that there are changes that `catalog.backup` does not have yet.
    package func noteChange(_ count: Int = 1) { catalogBackup.noteChanges(count) }

    /// Backs up the catalog if it has changed since the last backup, and that is 10 minutes or 1 000 changes ago.
    package func backUpCatalogIfDue(now: ContinuousClock.Instant = .now) throws {
        try catalogBackup.writeIfDue(now: now)
    }

    /// Writes a new `catalog.backup`.
    ///
    /// - Parameter forgetting: whether to replace the previous backup, too.
    package func backUpCatalog(forgetting: Bool = false, now: ContinuousClock.Instant = .now) throws {
        try catalogBackup.write(forgetting: forgetting, now: now)
    }

    /// Restores the rows that open in `catalog.backup` but not in the index.
    ///
    /// A backup that does not open restores nothing.
    ///
    /// - Throws: ``VaultError`` with code `storage` if a backup cannot be read at present.
    package func restoreFromBackup() throws -> Restored {
        guard isOwner, keyring.hasRecordKeys else { return Restored() }
        let restored = try withDiskSpace(orReserve: true) { [folder] in
            try index.database.catchUp()
            try GenerationRows(index).restoreRetiring(retiringGenerations())
            let corrected = try index.resources.correctPlainColumns()
            var restored = try index.database.withoutTransaction { db in
                try CatalogMerge.run(
                    fromBackupIn: folder, into: db, erased: "SELECT record, id FROM main.erased", index)
            }
            restored.rows += corrected
            return restored
        }
        if restored.resources > 0 {
            // Titles and their parts are linked by rows that no backup has, so these rows are created again.
            try withDiskSpace(orReserve: true) { try index.titles.linkParts() }
            try index.completeness.recount(doubting: true)
        }
        if restored.total > 0 {
            noteChange(restored.total)
            onRestore.withLock(\.self)()
        }
        return restored
    }

    /// How long to wait for another program that is reading the index's log.
    package static let erasingTimeout: Duration = .seconds(5)

    /// Returns whether an erasure is pending because a removed or rewrapped key may remain where it was.
    package func hasPendingErasure() throws -> Bool { try erasure.pending() != nil }

    /// Carries out a pending erasure.
    ///
    /// - Parameter patience: how long to wait, each time, for a program that is reading the log.
    package func carryOutErasure(patience: Duration = erasingTimeout) throws {
        try erasure.carryOut(patience: patience)
    }

    /// Erases a secret that was just replaced or deleted, unless something was erased within the last minute. In that
    /// case, the secret waits for the next erasure.
    package func eraseIfDue() {
        if erasure.isDue { try? carryOutErasure(patience: .seconds(1)) }
    }

    // MARK: Recovery

    /// Finishes what the last owner left unfinished, as far as the disk has space for it.
    ///
    /// Held bytes can be played in any case, and the next owner finishes the rest.
    func recover() throws {
        let steps: [() throws -> Void] = [
            index.database.catchUp, { [self] in try GenerationRows(index).restoreRetiring(retiringGenerations()) },
            index.records.sealFormer, index.representations.dropFilling,
            removal.finish, recoverOpenSegments,
        ]
        for step in steps {
            do {
                try quota.reserve.withReserve(for: step)
            } catch let error as VaultError where error.code == .diskFull {
                continue
            }
        }
    }

    /// Does the work that was left pending while the disk was full, as far as possible. Called once a minute.
    package func finishPendingWork() {
        quota.reserve.keep()
        for id in removal.abandonedSegments { try? discard(id) }
        try? removal.finish()
        try? carryOutErasure(patience: .seconds(1))
    }

    /// Closes the segments that the last owner left open, each after its last block that opens.
    ///
    /// A segment that cannot be recovered is not a reason to refuse the vault.
    func recoverOpenSegments() throws {
        for (segment, resource) in try SegmentRows(index).openSegments() {
            // If the resource does not open, nothing is known about the bytes, so nothing is deleted.
            guard let key = (try? index.resources.find(resource))?.keys[segment.keyNumber] else { continue }
            do {
                switch try SegmentRecovery.recover(segment, resourceKey: key.secret, in: segments) {
                case .recovered(let recovered): try closeRecovered(recovered)
                case .lost: try abandonUnrecoverable(segment.id)
                case .unreadable: break
                }
            } catch let error as VaultError where error.code == .diskFull {
                // The segment stays open for the next owner, with the bytes of its last commit, because a full disk can
                // still be read.
                continue
            }
        }
    }

    func closeRecovered(_ segment: SegmentDescription) throws {
        do {
            _ = try quota.reserve.withReserve { try SegmentRows(index).commit(segment, closed: true, fetched: 0) }
        } catch let error as VaultError where error.code == .integrity {
            // Another segment holds these bytes by now.
            try abandonUnrecoverable(segment.id)
        }
    }

    private func abandonUnrecoverable(_ id: SegmentID) throws {
        try quota.reserve.withReserve { _ = try SegmentRows(index).drop(id, deletesFile: true) }
        try removal.removeFiles(of: [id])
    }
}

// What is recorded about a resource apart from its bytes.
extension VaultStore {
    /// Records that the serving representation was found to be current.
    package func confirm(_ freshness: Freshness, of resource: inout StoredResource) throws {
        guard var serving = resource.serving else { return }
        serving.info.freshness = freshness
        noteChange()
        try withDiskSpace { try index.representations.update(serving.info, of: serving.id, resource: resource) }
        resource.serving = serving
    }

    /// Sets a resource's own mode; nil removes it.
    package func setMode(_ mode: VaultMode?, of resource: inout StoredResource) throws {
        var metadata = resource.metadata
        metadata.mode = mode
        noteChange()
        try withDiskSpace { try index.resources.write(metadata, of: resource) }
        changes.note(resource.id)
        resource.metadata = metadata
    }
}

extension VaultStore {
    /// Records the URL and the request fields with which a resource was last fetched.
    package func renew(
        _ resource: inout StoredResource, url: String, fields: OriginFields?, isDerived: Bool = false
    ) throws {
        var metadata = resource.metadata
        metadata.url = url
        metadata.fields = fields
        metadata.isDerived = isDerived
        try index.resources.write(metadata, of: resource)
        noteChange()
        resource.metadata = metadata
    }
}

// The last verification of the whole vault.
extension VaultStore {
    /// Records that the whole vault was verified.
    ///
    /// If the settings cannot be written, for example by a reader of the vault, the record is kept in memory until the
    /// store is closed.
    package func noteVerification(isSound: Bool) {
        let record = VerificationRecord(time: now(), isSound: isSound)
        verification.withLock { $0 = record }
        if isOwner { try? changeSettings { $0.verification = record } }
    }

    /// Returns when the whole vault was last verified, and the result; nil if it never was.
    package func lastVerification() throws -> VerificationRecord? {
        try verification.withLock(\.self) ?? index.settings().verification
    }
}

extension VaultStore {
    /// Changes the vault's settings.
    package func changeSettings(_ change: (inout VaultSettings) throws -> Void) throws {
        try withDiskSpace(orReserve: true) { try index.changeSettings(change) }
        noteChange()
        eraseIfDue()
    }
}
