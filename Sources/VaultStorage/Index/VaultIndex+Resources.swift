import Foundation
import GRDB
import VaultCrypto
package import VaultModel

extension VaultIndex {
    // MARK: Reading

    /// Returns a resource with its serving representation; nil if the vault does not have the resource.
    ///
    /// A file in a pack is returned as if it were a resource of its own. See ``StoredResource/place``.
    package func resource(_ id: ResourceID) throws -> StoredResource? {
        try read { db in try self.resource(id, db) }
    }

    func resource(_ id: ResourceID, _ db: Database) throws -> StoredResource? {
        try ResourceRow.fetch(id, db).map { try resource($0, db) } ?? packedResource(id, db)
    }

    private func resource(_ row: ResourceRow, _ db: Database) throws -> StoredResource {
        guard let sealed = try SealedResource.fetch([row], db).first else { throw IndexError.damaged }
        return try open(sealed)
    }

    /// Returns whether a resource's keys, its metadata, and the information about the representation that it serves
    /// exist and open, whatever its plain columns hold.
    ///
    /// - Throws: ``VaultError`` if the rows cannot be read at present. A disk failure or a lack of memory does not
    ///   count as damage.
    func opens(_ id: ResourceID, _ db: Database) throws -> Bool {
        try opened(id, db).map { try opensServed(of: $0, db) } ?? false
    }

    /// Returns whether the information about the representation that a resource serves, if any, exists and opens.
    func opensServed(of resource: OpenedResource, _ db: Database) throws -> Bool {
        try resource.metadata.serving.map { try opens($0, of: resource, db) } ?? true
    }

    /// Returns whether the information about a representation of a resource exists and opens under the resource's key.
    func opens(_ id: RepresentationID, of resource: OpenedResource, _ db: Database) throws -> Bool {
        let row = try IndexError.nilIfDamaged { try RepresentationRow.fetch(id, db) }
        guard let row, row.resource == resource.id else { return false }
        let info = row.openInfo(of: resource.id, under: resource.metadataKey.secret)
        return info.flatMap { RepresentationInfo($0) } != nil
    }

    /// Returns the page of resources that follows a given id, in the order of their ids.
    ///
    /// For a resource whose rows are damaged, only the id is returned.
    ///
    /// - Parameter parts: whether to return the parts of titles, too.
    package func resources(
        after: ResourceID?, limit: Int, parts: Bool = true
    ) throws -> [(id: ResourceID, resource: StoredResource?)] {
        try sealedResources(after: after, limit: limit, parts: parts).map { ($0.id, try openIfSound($0)) }
    }

    /// Visits all resources, one range of ids at a time.
    ///
    /// Each range is read in a transaction of its own, so that no write waits long.
    ///
    /// - Parameter body: receives the id that precedes the range, and the last id in the range.
    func forEachPage(_ body: (_ db: Database, _ before: Data, _ last: Data) throws -> Void) throws {
        let pageSize = 500
        var before: Data? = Data()
        while let id = before {
            before = try read { db in
                let last = try Data.fetchOne(
                    db, sql: "SELECT max(id) FROM (SELECT id FROM resource WHERE id > ? ORDER BY id LIMIT ?)",
                    arguments: [id, pageSize])
                if let last { try body(db, id, last) }
                return last
            }
        }
    }

    /// Returns whether a resource exists, even if it does not open.
    package func hasResource(_ id: ResourceID) throws -> Bool { try read { db in try ResourceRow.exists(id, db) } }

    /// Returns the numbers of resources, bytes, segments and pending deletions.
    ///
    /// Parts of titles are not counted as resources. The bytes are those that are held according to the index,
    /// including bad blocks.
    package func totals() throws -> (resources: Int, bytes: Int64, segments: Int, pendingDeletions: Int) {
        try read { db in
            (
                try (Int.fetchOne(db, sql: "SELECT count(*) FROM resource") ?? 0) - PartRow.count(db),
                try Int64.fetchOne(
                    db, sql: "SELECT total(length) FROM segment WHERE \(PlainColumn.isSegment)") ?? 0,
                try Int.fetchOne(db, sql: "SELECT count(*) FROM segment") ?? 0,
                try Int.fetchOne(db, sql: "SELECT count(*) FROM doomed") ?? 0
            )
        }
    }

    // MARK: Writing

    /// Adds a resource with a new random key, wrapped under the current generation.
    ///
    /// - Parameters:
    ///   - isUnpacked: whether the resource replaces a file in a pack.
    ///   - title: the title that must still exist for the resource to be added; nil if it needs no title.
    ///   - first: the resource's first representation, which is to be read although it has nothing to serve yet.
    /// - Throws: ``VaultError`` with code `changed` if the resource was unexpectedly recorded as a file in a pack,
    ///   `removed` if the title is gone.
    package func addResource(
        _ id: ResourceID, metadata: ResourceMetadata, resourceClass: ResourceClass, now: Int64,
        isUnpacked: Bool = false, of title: ResourceID? = nil, beginning first: StoredRepresentation? = nil
    ) throws -> StoredResource {
        let key = SharedKey(try SecureRandom.key("resource key"))
        let number = 1
        let metadataKey = try KeyDerivation.key(from: key.secret, .metadata)
        let info = try first.map { try RepresentationRow.seal($0.info.object, of: $0.id, id, under: metadataKey) }
        var metadata = metadata
        if let first { metadata.serving = first.id }
        let sealed = try ResourceRow.seal(metadata, of: id, under: metadataKey)
        let accessed = PlainColumn.hour(of: now)
        let generation = try writeWithoutSync { db in
            // The key is wrapped inside the transaction, because then the current generation cannot be retired before
            // the wrapped key is written.
            let wrapped = try ResourceKeyRow(
                wrapping: key.secret, of: id, number: number, generation: keyring.currentGeneration, keyring)
            guard let wrapped else { throw IndexError.damaged }
            if let title { try Self.require(title, db) }
            if isUnpacked { try unpack(id, db) }
            guard try PackedPartRow.fetch(id, db).isEmpty else {
                throw VaultError(.changed, "the resource was just stored with its title; open it again")
            }
            try ResourceRow.insert(
                id, keyNumber: number, metadata: sealed, resourceClass: resourceClass, accessed: accessed, db)
            try wrapped.insert(db)
            try link(id, to: metadata, db)
            if let first, let info {
                try RepresentationRow.insert(first.id, of: id, info: info, isServing: true, db)
            }
            return wrapped.generation
        }
        return StoredResource(
            id: id, metadata: metadata, resourceClass: resourceClass, keyNumber: number, keys: [number: key],
            generation: generation, accessed: accessed, serving: first)
    }

    /// Seals and writes a resource's metadata.
    ///
    /// - Parameters:
    ///   - resourceClass: the resource's new class; nil to keep its class. A resource that was only played may become
    ///     a download, but never the other way round.
    ///   - link: a change to the resource's title membership, which `metadata` already contains.
    func write(
        _ metadata: ResourceMetadata, of resource: StoredResource, raisingTo resourceClass: ResourceClass? = nil,
        _ link: TitleLink? = nil
    ) throws {
        if resource.place != nil, let info = resource.serving?.info { return try rewrite(resource, metadata, info) }
        let key = try resource.metadataKey()
        let change = { (db: Database) in
            let metadata = try self.withRecordedLosses(metadata, of: resource, db)
            let sealed = try ResourceRow.seal(metadata, of: resource.id, under: key)
            if case .join(let title)? = link { try Self.require(title, db) }
            try ResourceRow.update(resource.id, metadata: sealed, db)
            if let link { try PartRow.change(link, of: resource.id, db) }
            switch resourceClass {
            case nil, .cache: break
            case .download?: try self.setClass(.download, of: resource.id, only: .cache, db)
            case .pinned?: try self.setClass(.pinned, of: resource.id, only: nil, db)
            }
        }
        // The part's bytes or its title's record are written next, and that write makes this one durable.
        if case .join? = link { try writeWithoutSync(change) } else { try write(change) }
    }

    /// Changes a resource's class.
    ///
    /// - Parameters:
    ///   - only: the class that the resource must have to be changed; nil for any class.
    ///   - isFollowed: whether another write follows before the change is reported, and makes this one durable, too.
    /// - Returns: whether the resource exists.
    package func setClass(
        _ resourceClass: ResourceClass, of id: ResourceID, only: ResourceClass? = nil, isFollowed: Bool = false
    ) throws -> Bool {
        let change = { (db: Database) in
            try self.setClass(resourceClass, of: id, only: only, db)
            return try ResourceRow.exists(id, db)
        }
        return try isFollowed ? writeWithoutSync(change) : write(change)
    }

    func setClass(
        _ resourceClass: ResourceClass, of id: ResourceID, only: ResourceClass?, _ db: Database
    ) throws {
        let statement = try db.cachedStatement(
            sql: "UPDATE resource SET class = ? WHERE id = ? AND class = coalesce(?, class)")
        try statement.execute(arguments: [resourceClass.rawValue, id.data, only?.rawValue])
    }

    /// Records that resources were read in this hour. For a part, its titles and its pack are recorded as read, too.
    package func touch(_ ids: [ResourceID], now: Int64) throws {
        let hour = PlainColumn.hour(of: now)
        try write { db in
            let titles = try PartRow.hasTable(db) ? "OR id IN (SELECT title FROM part WHERE resource = ?2)" : ""
            for id in try ids.flatMap({ [$0] + (try PackedPartRow.fetch($0, db).map(\.pack)) }) {
                try db.execute(
                    sql: "UPDATE resource SET accessed = ?1 WHERE (id = ?2 \(titles)) AND accessed < ?1",
                    arguments: [hour, id.data])
            }
        }
    }

    /// Replaces the last-access times in a given period, which came from a wrong clock, with the right time.
    func moveAccessTimes(from first: Int64, through last: Int64, to time: Int64) throws {
        try write { db in
            try db.execute(
                sql: "UPDATE resource SET accessed = ? WHERE accessed BETWEEN ? AND ?",
                arguments: [PlainColumn.hour(of: time), PlainColumn.hour(of: first), PlainColumn.hour(of: last)])
        }
    }

    /// Deletes a resource with its keys and everything it holds. If the resource is a title, the parts that only it has
    /// are deleted, too.
    ///
    /// - Parameter change: changes the settings within the same transaction.
    /// - Returns: the segments that became pending deletions; nil if the vault does not have the resource.
    func remove(
        _ id: ResourceID, noting change: ((inout VaultSettings) -> Void)? = nil
    ) throws -> [SegmentDescription]? {
        try write { db in
            guard try ResourceRow.exists(id, db) else { return nil }
            var segments = try SegmentRow.segments(of: id, db)
            try noteLoss(of: segments.reduce(0) { $0 + $1.length }, from: id, db)
            for part in try PartRow.parts(of: id, db) { segments += try remove(part, of: id, db) }
            try ResourceRow.delete(id, db)
            try PendingErasure.record(db)
            if let change { try changeSettings(db, change) }
            return segments
        }
    }

    /// Deletes every resource with its keys and everything it holds.
    ///
    /// - Returns: the number of deleted resources, including those deleted by earlier, failed attempts to destroy the
    ///   vault.
    func removeAll() throws -> Int64 {
        try write { db in
            var count = try Int64.fetchOne(db, sql: "SELECT count(*) FROM resource") ?? 0
            // Settings that do not open must not prevent the destruction.
            if case (var settings, let locator)? = try? openedSettings(db) {
                settings.destroyedResources += count
                count = settings.destroyedResources
                try write(settings, locator: locator, db)
            }
            try PendingDeletion.insert("true", [], db)
            if try CoverRow.hasTable(db) { try db.execute(sql: "DELETE FROM cover") }
            // Nothing may be restored from the backup before the backup is gone, too.
            for record in [ErasedRow.resource, ErasedRow.packedPart] { try ErasedRow.insert(record, ErasedRow.all, db) }
            try db.execute(sql: "DELETE FROM representation; DELETE FROM resourceKey; DELETE FROM resource")
            for table in SealedTable.own { try table.deleteAll(db) }
            try PendingErasure.record(db)
            return count
        }
    }

    // MARK: Representations

    /// Adds a representation that is being filled. The former representation stays in use until ``serve(_:of:)``.
    package func add(_ representation: StoredRepresentation, to resource: StoredResource) throws {
        let info = try RepresentationRow.seal(
            representation.info.object, of: representation.id, resource.id, under: try resource.metadataKey())
        try writeWithoutSync { db in try RepresentationRow.insert(representation.id, of: resource.id, info: info, db) }
    }

    /// Writes new information about a representation, such as its length.
    package func update(_ info: RepresentationInfo, of id: RepresentationID, resource: StoredResource) throws {
        if resource.place != nil { return try rewrite(resource, resource.metadata, info) }
        let sealed = try RepresentationRow.seal(info.object, of: id, resource.id, under: try resource.metadataKey())
        try write { db in try RepresentationRow.update(id, info: sealed, db) }
    }

    /// Makes a representation the one from which its resource is read.
    ///
    /// The resource's other representations are deleted, and their segments become pending deletions.
    ///
    /// - Returns: the new metadata.
    package func serve(_ representation: RepresentationID, of resource: StoredResource) throws -> ResourceMetadata {
        var metadata = resource.metadata
        metadata.serving = representation
        let key = try resource.metadataKey()
        let change = { (db: Database) in
            // The bytes of the previous representation are lost with it.
            if let former = resource.metadata.serving, former != representation {
                let bytes = try SegmentRow.segments(of: former, db).reduce(0) { $0 + $1.length }
                try self.noteLoss(of: bytes, from: resource.id, db)
            }
            let metadata = try self.withRecordedLosses(metadata, of: resource, db)
            let sealed = try ResourceRow.seal(metadata, of: resource.id, under: key)
            try RepresentationRow.delete(of: resource.id, except: representation, db)
            try db.execute(
                sql: "UPDATE representation SET state = 'serving' WHERE id = ?", arguments: [representation.data])
            try ResourceRow.update(resource.id, metadata: sealed, db)
        }
        // No sync is needed for the first representation, because it has nothing to serve yet and replaces no other.
        if resource.metadata.serving == nil { try writeWithoutSync(change) } else { try write(change) }
        return metadata
    }

    /// Deletes the representations that the last owner left without anything to serve.
    ///
    /// Their segments become pending deletions.
    package func dropFilling() throws { try write { db in try RepresentationRow.deleteFilling(db) } }

    /// Corrects impossible values in the plain columns on which no key depends.
    ///
    /// - Returns: the number of corrected values.
    func correctPlainColumns() throws -> Int {
        try write { db in try ResourceRow.correct(now: now(), db) + RepresentationRow.correct(db) }
    }
}

/// The opened data that is bound to a resource's id: its keys and its metadata.
struct OpenedResource {
    let id: ResourceID
    /// The number of the key in use.
    let keyNumber: Int
    /// Each key by its number, with its row.
    let keys: [Int: (row: ResourceKeyRow, key: SharedKey)]
    let metadataKey: SharedKey
    var metadata: ResourceMetadata

    /// Opens a resource.
    ///
    /// - Throws: `RowDecodingError` or ``VaultError`` with code `integrity` if a value is impossible or does not open.
    init(_ row: ResourceRow, _ keyring: Keyring, _ db: Database) throws {
        try self.init(row, try ResourceKeyRow.fetchAll(of: row.id, db), keyring)
    }

    /// Opens a resource whose key rows have already been read.
    init(_ row: ResourceRow, _ keyRows: [ResourceKeyRow], _ keyring: Keyring) throws {
        guard let keyNumber = row.keyNumber else { throw IndexError.damaged }
        var keys: [Int: (row: ResourceKeyRow, key: SharedKey)] = [:]
        for wrapped in keyRows {
            guard let key = try wrapped.key(keyring) else {
                throw VaultError(
                    .integrity,
                    """
                    a resource key does not open under generation \(wrapped.generation) of this keyring; restore the \
                    keyring, or repair the vault, which removes the resource
                    """, hint: .repair)
            }
            keys[wrapped.number] = (wrapped, key)
        }
        guard let inUse = keys[keyNumber]?.key else { throw IndexError.damaged }
        let metadataKey = SharedKey(try KeyDerivation.key(from: inUse.secret, .metadata))
        guard let metadata = row.openMetadata(under: metadataKey.secret) else { throw IndexError.damaged }
        (id, self.keyNumber, self.keys) = (row.id, keyNumber, keys)
        (self.metadataKey, self.metadata) = (metadataKey, metadata)
    }
}
