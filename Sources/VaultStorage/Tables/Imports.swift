import GRDB
import VaultCrypto
package import VaultModel

/// Imports: titles that are stored from a file.
///
/// Until all of a file is stored, the index has no rows for it except its segments' ids among the pending deletions.
/// For this reason, no part of the file can be listed or read, the next owner removes what a killed owner left behind,
/// and the file's key exists only in memory. One transaction then adds all rows.
package struct Imports {
    let store: VaultStore

    /// Begins an import: returns the resource with a new, empty representation. Writes nothing.
    ///
    /// - Parameters:
    ///   - metadata: the resource's metadata, which is used if the vault does not have the resource.
    ///   - resourceClass: the class of a new resource, and the lowest class of one that the vault already has.
    /// - Throws: ``VaultError`` with code `inUse` if bytes of the resource are already held, or `integrity` or
    ///   `storage` if its rows cannot be read.
    package func begin(
        _ id: ResourceID, _ metadata: ResourceMetadata, as resourceClass: ResourceClass,
        _ information: ContentInformation
    ) throws -> StoredResource {
        let known = try store.index.resources.find(id)
        if let known { try Self.requireNothingHeld(of: known) }
        // The key is not wrapped until the import ends, so until then the imported bytes cannot be opened with the
        // vault's keys.
        let number = (known?.keys.keys.max() ?? 0) + 1
        let sequence = (known?.serving?.info.sequence ?? 0) + 1
        return StoredResource(
            id: id, metadata: metadata, resourceClass: resourceClass, keyNumber: number,
            keys: [number: SharedKey(try SecureRandom.key("resource key"))],
            generation: store.keyring.currentGeneration,
            accessed: PlainColumn.hour(of: store.index.now()),
            serving: try StoredRepresentation(
                NewRepresentation(information), sequence: sequence, now: store.index.now()))
    }

    /// Begins a segment of an import: durably lists the segment as a pending deletion, and then creates its file.
    ///
    /// - Parameter note: receives the segment's id before anything is written.
    /// - Throws: the same errors as ``SegmentTable/begin(at:of:_:)``.
    package func beginSegment(
        at start: Int64, of imported: StoredResource, _ estimate: WriteEstimate, noting note: (SegmentID) -> Void
    ) throws -> SegmentWriter {
        let (segment, key) = try SegmentTable.empty(at: start, of: imported, otherwise: "import the file again")
        try store.quota.admit(segment.diskSize, for: segment.id, estimate)
        store.removal.spare(segment.id)
        note(segment.id)
        try store.withDiskSpace {
            try store.index.write { db in _ = try PendingDeletion.insert(segment.id, db) }
        }
        do {
            return try SegmentWriter(segment, resourceKey: key.secret, file: try store.segmentFiles.create(segment.id))
        } catch {
            throw SegmentTable.translated(error, "a segment cannot be written")
        }
    }

    /// Closes a segment of an import, and makes all of it durable.
    ///
    /// - Throws: ``VaultError`` if any of the segment could not be written.
    package func closeSegment(_ writer: consuming SegmentWriter) throws -> SegmentDescription {
        var writer = writer
        let end = writer.end
        writer.finish()
        do {
            try writer.synchronize()
            try store.segmentFiles.synchronizeName(of: writer.segment.id)
        } catch {
            throw SegmentTable.translated(error, "a segment cannot be made durable")
        }
        guard writer.segment.range.upperBound == end else {
            throw VaultError(
                .diskFull, "the last block of a segment could not be written; free disk space and try again")
        }
        store.quota.account.settle(writer.segment.id, size: writer.segment.diskSize)
        return writer.segment
    }

    /// Makes the imported representation the serving one of its resource. If this throws, nothing has changed.
    ///
    /// - Parameters:
    ///   - imported: the resource with the imported representation, all of which is durable.
    ///   - change: changes the metadata of the resource.
    /// - Returns: the resource as it is afterwards.
    /// - Throws: ``VaultError`` with code `inUse` if bytes of the resource are already held, `removed` if it is a part of
    ///   a title that no longer exists, or `diskFull` or `storage` if the rows cannot be written.
    package func finish(
        _ imported: StoredResource, _ change: (inout ResourceMetadata) -> Void
    ) throws -> StoredResource {
        let stored = try enter(imported, now: store.index.now(), change)
        store.changes.note(stored.id)
        store.removal.spareNoMore(imported.serving?.segments.map(\.id) ?? [])
        // If this fails, whatever is still listed is removed within a minute, or by the next owner.
        try? store.removal.finish()
        return stored
    }

    /// Abandons an import: removes the files of its segments.
    package func drop(_ ids: [SegmentID]) throws {
        store.removal.spareNoMore(ids)
        _ = try store.removal.removeFiles(of: ids)
    }

    /// Requires, before a file is read, that its import would replace nothing.
    ///
    /// - Throws: ``VaultError`` with code `inUse` if bytes of the resource are already held, or `storage` if its rows
    ///   cannot be read.
    package func requireNothingHeld(of id: ResourceID) throws {
        if let known = try store.index.resources.find(id) { try Self.requireNothingHeld(of: known) }
    }

    /// Returns the error for an import of a title that already has held bytes.
    package static func alreadyHeld(_ bytes: Int64, isWhole: Bool) -> VaultError {
        VaultError(
            .inUse,
            isWhole
                ? "the vault already holds all of this title; remove it first, or leave it as it is"
                : "the vault already holds \(Quantity.readable(bytes: bytes)) of this title; remove it first, or fetch "
                    + "the rest")
    }

    // MARK: Rows

    /// Adds all rows of an import in one transaction, replacing the rows of a resource that has no held bytes.
    private func enter(
        _ imported: StoredResource, now: Int64, _ change: (inout ResourceMetadata) -> Void
    ) throws -> StoredResource {
        guard let key = imported.keys[imported.keyNumber], let serving = imported.serving else {
            throw IndexError.damaged
        }
        let (id, number) = (imported.id, imported.keyNumber)
        let metadataKey = try imported.metadataKey()
        return try store.mutate { index, db in
            let known = try index.resources.find(id, db)
            if let known { try Self.requireNothingHeld(of: known) }
            var stored = imported
            stored.metadata = known?.metadata ?? imported.metadata
            change(&stored.metadata)
            stored.metadata.serving = serving.id
            // The key is wrapped inside the transaction, so that the generation that is current now cannot be retired
            // before the row is written.
            let wrapped = try ResourceKeyRow(
                wrapping: key.secret, of: id, number: number, generation: store.keyring.currentGeneration, store.keyring
            )
            guard let wrapped else { throw IndexError.damaged }
            let metadata = try ResourceRow.seal(stored.metadata, of: id, under: metadataKey)
            if known == nil {
                try ResourceRow.insert(
                    id, keyNumber: number, metadata: metadata, resourceClass: imported.resourceClass,
                    accessed: PlainColumn.hour(of: now), db)
                try index.titles.join(id, stored.metadata, db)
            } else {
                try replace(id, keyNumber: number, metadata: metadata, raisingTo: imported.resourceClass, db)
            }
            if let known {
                try CoverRow.reseal(
                    stored.metadata.cover, of: id, under: try known.metadataKey(), as: id, under: metadataKey, db)
            }
            try wrapped.insert(db)
            let info = try RepresentationRow.seal(serving.info.object, of: serving.id, id, under: metadataKey)
            try RepresentationRow.insert(serving.id, of: id, info: info, isServing: true, db)
            for segment in serving.segments {
                try SegmentRow.replaceClosed(segment, badBlocks: [], now: now, db)
                try PendingDeletion.delete(segment.id, db)
            }
            return stored
        }
    }

    /// Deletes the keys and representations that an import replaces, and updates the resource's row.
    private func replace(
        _ id: ResourceID, keyNumber: Int, metadata: [UInt8], raisingTo resourceClass: ResourceClass, _ db: Database
    ) throws {
        try RepresentationRow.delete(of: id, db)
        try db.execute(sql: "DELETE FROM resourceKey WHERE resource = ?", arguments: [id.data])
        try PendingErasure.record(db)
        try db.execute(
            sql: "UPDATE resource SET key = ?, metadata = ? WHERE id = ?",
            arguments: [keyNumber, metadata.data, id.data])
        try store.index.resources.setClass(resourceClass, of: id, only: resourceClass == .pinned ? nil : .cache, db)
    }

    private static func requireNothingHeld(of resource: StoredResource) throws {
        let held = resource.serving?.held.byteCount ?? 0
        guard resource.place == nil, held == 0 else {
            throw alreadyHeld(held, isWhole: resource.serving?.info.information.length == held)
        }
    }
}
