import VaultCrypto
package import VaultModel

// Counting, backing up, and finishing what an earlier owner left unfinished.
extension VaultStore {
    /// Counts bytes that an origin sent; they are committed with the next change.
    package func countFetched(_ bytes: Int64) {
        counters.withLock { $0.fetched += bytes }
    }

    /// Returns the bytes that origins have sent since the vault was created, including those not yet committed.
    package func bytesFetched() throws -> Int64 {
        let committed = try index.settings().bytesFetched
        return isOwner ? counters.withLock { $0.fetched } : committed
    }

    /// Runs a commit that includes the count of fetched bytes.
    func countingFetched(_ commit: (Int64) throws -> Void) throws {
        let total = counters.withLock { $0.fetched }
        try commit(total)
        counters.withLock { counters in
            guard total > counters.committed else { return }
            counters.committed = total
            // The count is in a row that the backup holds too.
            counters.changesSinceBackup += 1
        }
    }

    /// Commits a count that no segment's commit included.
    package func flushCounters() throws {
        let isDue = counters.withLock { $0.fetched > $0.committed }
        if isDue { try countingFetched { try index.countFetched($0) } }
    }

    /// Records that resources were read in this hour.
    package func touch(_ ids: [ResourceID]) throws {
        if isOwner, !ids.isEmpty { try index.touch(ids, now: now()) }
    }

    package func noteChange() { counters.withLock { $0.changesSinceBackup += 1 } }

    /// Backs up the catalog if the backup is 10 minutes or 1 000 changes behind.
    package func backUpCatalogIfDue(now: ContinuousClock.Instant = .now) throws {
        let isDue = counters.withLock { counters in
            counters.changesSinceBackup >= 1000
                || (counters.changesSinceBackup > 0 && now - counters.lastBackup >= .seconds(600))
        }
        if isDue { try backUpCatalog(now: now) }
    }

    /// Writes a new `catalog.backup`.
    package func backUpCatalog(now: ContinuousClock.Instant = .now) throws {
        // One at a time: two would remove each other's half-written file.
        try backup.withLock { _ in
            let changes = counters.withLock { $0.changesSinceBackup }
            try CatalogBackup.write(index, vault: folder, fileSystem: fileSystem)
            counters.withLock { counters in
                counters.changesSinceBackup -= changes
                counters.lastBackup = now
            }
        }
    }

    /// Removes the files of all segments that are pending deletion.
    ///
    /// A segment whose file cannot be removed stays on the list for the next time: that is no reason to refuse a vault
    /// or to stop playback.
    func finishPendingDeletions() throws {
        var last: SegmentID?
        var stillListed: [SegmentID] = []
        // One pass through the list: a segment that stays on it is tried only once.
        while true {
            let doomed = try index.segmentsPendingDeletion(after: last, limit: 256)
            guard let end = doomed.last else { break }
            last = end
            stillListed += try removeFiles(of: doomed).stillListed
        }
        // If the index took no writes, there may be space by now.
        if !stillListed.isEmpty { try? index.forgetPendingDeletions(stillListed) }
    }

    /// Removes the files of segments that are pending deletion, and then takes the segments off the list.
    ///
    /// - Returns: the segments whose files are durably gone although the list still names them, and the bytes of the
    ///   files that are no longer in their folder.
    @discardableResult
    func removeFiles(of ids: [SegmentID]) throws -> (stillListed: [SegmentID], bytes: Int64) {
        var bytes: Int64 = 0
        let removed = removal.withLock { _ in
            ids.filter { id in
                // Measured just before the removal: a file that is already gone no longer counts.
                let size = diskSize(of: id)
                guard (try? segments.remove(id)) != nil else { return false }
                bytes += quota.remove(id, size: size)
                return true
            }
        }
        let gone = removed.filter { id in (try? segments.synchronizeName(of: id)) != nil }
        guard !gone.isEmpty else { return ([], bytes) }
        do {
            try index.forgetPendingDeletions(gone)
            return ([], bytes)
        } catch {
            // A full disk may refuse this write; they are taken off the list the next time.
            return (gone, bytes)
        }
    }

    // MARK: Recovery

    /// Finishes what the last owner left unfinished, as far as the disk has space for it.
    ///
    /// Held bytes can be played in any case, and the next owner finds the rest.
    func recover(afterKill wasKilled: Bool) throws {
        let steps: [() throws -> Void] = [
            index.database.catchUp, { try self.addLaterTables(afterKill: wasKilled) }, index.dropFilling,
            finishPendingDeletions,
            recoverOpenSegments,
        ]
        for step in steps {
            do {
                try reserve.withReserve(for: step)
            } catch let error as VaultError where error.code == .diskFull {
                continue
            }
        }
    }

    /// Does the work that was left pending while the disk was full, as far as possible. Called once a minute.
    package func finishPendingWork() {
        reserve.keep()
        for id in counters.withLock({ $0.abandoned }) { try? discard(id) }
        try? finishPendingDeletions()
        try? carryOutErasure(patience: .seconds(1))
    }

    /// Creates the reserve, which is given up when the disk is full, if there is space for it.
    package func createReserve() { if isOwner { reserve.keep() } }

    /// Closes the segments that the last owner left open, at the last block that opens.
    ///
    /// A segment that cannot be recovered is no reason to refuse the vault.
    func recoverOpenSegments() throws {
        for (segment, resource) in try index.openSegments() {
            // If the resource does not open, nothing is known about the bytes, so nothing is deleted.
            guard let key = (try? index.resource(resource))?.keys[segment.keyNumber] else { continue }
            do {
                switch try SegmentRecovery.recover(segment, resourceKey: key.secret, in: segments) {
                case .recovered(let recovered): try closeRecovered(recovered)
                case .lost: try abandonUnrecoverable(segment.id)
                case .unreadable: break
                }
            } catch let error as VaultError where error.code == .diskFull {
                // It stays open, up to its last commit, for the next owner: a full disk can still be read.
                continue
            }
        }
    }

    func closeRecovered(_ segment: SegmentDescription) throws {
        do {
            try reserve.withReserve { try index.commit(segment, closed: true, fetched: 0) }
        } catch let error as VaultError where error.code == .integrity {
            // Another segment holds these bytes by now.
            try abandonUnrecoverable(segment.id)
        }
    }

    private func abandonUnrecoverable(_ id: SegmentID) throws {
        try reserve.withReserve { _ = try index.drop(id, doomed: true) }
        try removeFiles(of: [id])
    }
}

// Records about a resource other than its bytes.
extension VaultStore {
    /// Records that the serving representation was found to be current.
    package func confirm(_ freshness: Freshness, of resource: inout StoredResource) throws {
        guard var serving = resource.serving else { return }
        serving.info.freshness = freshness
        noteChange()
        try withDiskSpace { try index.update(serving.info, of: serving.id, resource: resource) }
        resource.serving = serving
    }

    /// Sets a resource's own mode; nil removes it.
    package func setMode(_ mode: VaultMode?, of resource: inout StoredResource) throws {
        var metadata = resource.metadata
        metadata.mode = mode
        noteChange()
        try withDiskSpace { try index.write(metadata, of: resource) }
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
        try index.write(metadata, of: resource)
        noteChange()
        resource.metadata = metadata
    }
}

extension VaultStore {
    /// Changes the vault's settings.
    package func changeSettings(_ change: (inout VaultSettings) throws -> Void) throws {
        try withDiskSpace(orReserve: true) { try index.changeSettings(change) }
        noteChange()
    }
}
