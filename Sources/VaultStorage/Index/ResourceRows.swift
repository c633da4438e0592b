import Foundation
import GRDB
import VaultCrypto
package import VaultModel

/// The rows of the resources, along with those of their keys.
package struct ResourceRows {
    private let index: VaultIndex

    init(_ index: VaultIndex) { self.index = index }

    // MARK: Reading

    /// Returns a resource with its serving representation; nil if the vault does not have the resource.
    ///
    /// A file in a pack is returned as if it were a resource of its own. See ``StoredResource/place``.
    package func find(_ id: ResourceID) throws -> StoredResource? {
        try index.read { db in try find(id, db) }
    }

    func find(_ id: ResourceID, _ db: Database) throws -> StoredResource? {
        try ResourceRow.fetch(id, db).map { try resource($0, db) } ?? index.packs.find(id, db)
    }

    private func resource(_ row: ResourceRow, _ db: Database) throws -> StoredResource {
        guard let sealed = try SealedResource.fetch([row], db).first else { throw IndexError.damaged }
        return try open(sealed)
    }

    /// Opens a resource; returns nil if anything in its rows does not open or has an invalid value.
    func opened(_ id: ResourceID, _ db: Database) throws -> OpenedResource? {
        try IndexError.nilIfDamaged { try ResourceRow.fetch(id, db).map { try OpenedResource($0, index.keyring, db) } }
    }

    /// Returns whether a resource's keys, its metadata, and the information about the representation that it serves
    /// exist and open. Its plain columns are not checked.
    ///
    /// - Throws: ``VaultError`` if the rows cannot be read at present. A disk failure or a lack of memory does not
    ///   count as damage.
    func opens(_ id: ResourceID, _ db: Database) throws -> Bool {
        try opened(id, db).map { try index.representations.opensServed(of: $0, db) } ?? false
    }

    /// Returns the page of resources that follows a given id, in the order of their ids.
    ///
    /// For a resource whose rows are damaged, only the id is returned.
    ///
    /// - Parameter parts: whether to return the parts of titles, too.
    package func page(
        after: ResourceID?, limit: Int, parts: Bool = true
    ) throws -> [(id: ResourceID, resource: StoredResource?)] {
        try sealed(after: after, limit: limit, parts: parts).map { ($0.id, try openIfSound($0)) }
    }

    /// Reads the rows of resources, in the order of their ids. Resources that the vault does not have are left out.
    package func sealed(_ ids: some Sequence<ResourceID>) throws -> [SealedResource] {
        try index.read { db in try SealedResource.fetch(ids, db) }
    }

    /// Reads the rows of the page of resources that follows a given id, in the order of their ids.
    ///
    /// - Parameter parts: whether to read the parts of titles, too.
    package func sealed(after: ResourceID?, limit: Int, parts: Bool = true) throws -> [SealedResource] {
        try index.read { db in
            let condition =
                try parts || !PartRow.hasTable(db) ? "" : "AND (NOT \(PartRow.isPart) OR \(PartRow.isTitle))"
            let statement = try db.cachedStatement(
                sql: "SELECT \(ResourceRow.columns) FROM resource WHERE id > ? \(condition) ORDER BY id LIMIT ?")
            let cursor = try Row.fetchCursor(statement, arguments: [after?.data ?? [UInt8]().data, limit])
            var rows: [ResourceRow] = []
            while let row = try cursor.next() {
                guard let row = try ResourceRow(row) else { throw IndexError.damaged }
                rows.append(row)
            }
            return try SealedResource.fetch(rows, db)
        }
    }

    /// Opens the rows of a resource, without the database.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if the rows do not open.
    func open(_ sealed: SealedResource) throws -> StoredResource {
        // An invalid value makes only its own resource count as damaged, not the whole page.
        try IndexError.translating {
            guard !sealed.isDamaged else { throw IndexError.damaged }
            let opened = try OpenedResource(sealed.row, sealed.keys, index.keyring)
            guard let resourceClass = sealed.row.resourceClass, let accessed = sealed.row.accessed else {
                throw IndexError.damaged
            }
            return StoredResource(
                id: sealed.id, metadata: opened.metadata, resourceClass: resourceClass, keyNumber: opened.keyNumber,
                keys: opened.keys.mapValues(\.key), generation: opened.keys[opened.keyNumber]?.row.generation ?? 0,
                accessed: accessed,
                serving: try opened.metadata.serving.flatMap { try sealed.representation($0, of: opened) })
        }
    }

    /// Opens the rows of a resource. Returns nil if the rows do not open.
    package func openIfSound(_ sealed: SealedResource) throws -> StoredResource? {
        do {
            return try open(sealed)
        } catch let error as VaultError where error.code == .integrity {
            return nil
        }
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
            before = try index.read { db in
                let last = try Data.fetchOne(
                    db, sql: "SELECT max(id) FROM (SELECT id FROM resource WHERE id > ? ORDER BY id LIMIT ?)",
                    arguments: [id, pageSize])
                if let last { try body(db, id, last) }
                return last
            }
        }
    }

    /// Returns whether a resource exists, even if it does not open.
    package func has(_ id: ResourceID) throws -> Bool { try index.read { db in try ResourceRow.exists(id, db) } }

    /// Returns those of the given resources that the vault does not have.
    package func missing(among ids: Set<ResourceID>) throws -> [ResourceID] {
        try index.read { db in try ids.filter { try !ResourceRow.exists($0, db) } }
    }

    /// Returns the numbers of resources, bytes, segments and pending deletions.
    ///
    /// Parts of titles are not counted as resources. The bytes are those that are held according to the index,
    /// including bad blocks.
    package func totals() throws -> (resources: Int, bytes: Int64, segments: Int, pendingDeletions: Int) {
        try index.read { db in
            (
                try (Int.fetchOne(db, sql: "SELECT count(*) FROM resource") ?? 0) - PartRow.count(db),
                try Int64.fetchOne(
                    db, sql: "SELECT total(length) FROM segment WHERE \(PlainColumn.isSegment)") ?? 0,
                try Int.fetchOne(db, sql: "SELECT count(*) FROM segment") ?? 0,
                try Int.fetchOne(db, sql: "SELECT count(*) FROM doomed") ?? 0
            )
        }
    }

    /// Returns the number of bytes of several resources that are held according to the index, and the number of the
    /// resources' segments.
    package func totals(of ids: [ResourceID]) throws -> (bytes: Int64, segments: Int) {
        try index.read { db in
            try ids.reduce(into: (0, 0)) { totals, id in
                let segments = try SegmentRow.segments(of: id, db)
                totals.bytes += segments.reduce(0) { $0 + $1.length }
                totals.segments += segments.count
            }
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
    package func add(
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
        let generation = try index.writeWithoutSync { db in
            // The key is wrapped inside the transaction, because then the current generation cannot be retired before
            // the wrapped key is written.
            let wrapped = try ResourceKeyRow(
                wrapping: key.secret, of: id, number: number, generation: index.keyring.currentGeneration, index.keyring
            )
            guard let wrapped else { throw IndexError.damaged }
            if let title { try TitleRows.require(title, db) }
            if isUnpacked { try index.packs.unpack(id, db) }
            guard try PackedPartRow.fetch(id, db).isEmpty else {
                throw VaultError(.changed, "the resource was just stored with its title; open it again")
            }
            try ResourceRow.insert(
                id, keyNumber: number, metadata: sealed, resourceClass: resourceClass, accessed: accessed, db)
            try wrapped.insert(db)
            try index.titles.link(id, to: metadata, db)
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
        if resource.place != nil, let info = resource.serving?.info {
            return try index.packs.rewrite(resource, metadata, info)
        }
        let key = try resource.metadataKey()
        let change = { (db: Database) in
            let metadata = try index.completeness.withRecordedLosses(metadata, of: resource, db)
            let sealed = try ResourceRow.seal(metadata, of: resource.id, under: key)
            if case .join(let title)? = link { try TitleRows.require(title, db) }
            try ResourceRow.update(resource.id, metadata: sealed, db)
            if let link { try PartRow.change(link, of: resource.id, db) }
            switch resourceClass {
            case nil, .cache: break
            case .download?: try setClass(.download, of: resource.id, only: .cache, db)
            case .pinned?: try setClass(.pinned, of: resource.id, only: nil, db)
            }
        }
        // The part's bytes or its title's record are written next, and that write makes this one durable.
        if case .join? = link { try index.writeWithoutSync(change) } else { try index.write(change) }
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
            try setClass(resourceClass, of: id, only: only, db)
            return try ResourceRow.exists(id, db)
        }
        return try isFollowed ? index.writeWithoutSync(change) : index.write(change)
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
        try index.write { db in
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
        try index.write { db in
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
        try index.write { db in
            guard try ResourceRow.exists(id, db) else { return nil }
            var segments = try SegmentRow.segments(of: id, db)
            try index.completeness.noteLoss(of: segments.reduce(0) { $0 + $1.length }, from: id, db)
            for part in try PartRow.parts(of: id, db) { segments += try index.titles.remove(part, of: id, db) }
            try ResourceRow.delete(id, db)
            try PendingErasure.record(db)
            if let change { try index.changeSettings(db, change) }
            return segments
        }
    }

    /// Deletes every resource with its keys and everything it holds.
    ///
    /// - Returns: the number of deleted resources, including those deleted by earlier, failed attempts to destroy the
    ///   vault.
    func removeAll() throws -> Int64 {
        try index.write { db in
            var count = try Int64.fetchOne(db, sql: "SELECT count(*) FROM resource") ?? 0
            // Settings that do not open must not prevent the destruction.
            if case (var settings, let locator)? = try? index.openedSettings(db) {
                settings.destroyedResources += count
                count = settings.destroyedResources
                try index.write(settings, locator: locator, db)
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

    /// Corrects invalid values in the plain columns on which no key depends.
    ///
    /// - Returns: the number of corrected values.
    func correctPlainColumns() throws -> Int {
        try index.write { db in try ResourceRow.correct(now: index.now(), db) + RepresentationRow.correct(db) }
    }
}
