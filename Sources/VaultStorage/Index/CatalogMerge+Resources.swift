import Foundation
import GRDB
import VaultCrypto
import VaultModel

// A resource's keys, metadata and representations are restored together. Rows that already open in the database to
// repair are kept.
extension CatalogMerge {
    /// Restores each resource whose keys, metadata or information differ from the catalog's, if it opens only in the
    /// catalog.
    func takeResources() throws -> Int {
        guard hasSameLocator else { return 0 }
        let known = try rows("SELECT * FROM main.generation", orAllOf: "SELECT * FROM main.generation WHERE FALSE")
        let generations = Set(known.compactMap(GenerationRow.init).map(\.number))
        return try takeEach(differingResources()) { id in
            guard try !index.resources.opens(id, db), try knowsErasures || ResourceRow.exists(id, db),
                try !wasErased(ErasedRow.resource, id.data), let former = try index.resources.opened(id, catalog),
                try index.representations.opensServed(of: former, catalog),
                generations.isSuperset(of: former.generations),
                try !wentWithTitles(former)
            else { return 0 }
            let representations = try representations(of: former)
            guard try !areOthers(representations, than: id) else { return 0 }
            // First try to keep metadata that opens, because it may be newer than the catalog's. Without its
            // representation, however, it is useless.
            for keepsMetadata in [true, false] {
                let count = try take { try copy(former, representations, keepsMetadata: keepsMetadata) }
                if count > 0 { return count }
            }
            return 0
        }
    }

    /// Returns the resources whose rows in the database to repair are missing or differ from those in the catalog.
    private func differingResources() throws -> [ResourceID] {
        // Each table has its own query, so that an unreadable page in one table hides nothing in the others.
        let queries = [
            """
            SELECT id FROM former.resource AS was
                WHERE \(PlainColumn.isSealed("metadata", upTo: ResourceRow.maxBytes))
                AND NOT EXISTS (SELECT 1 FROM main.resource AS now
                    WHERE now.id = was.id AND now.key = was.key AND \(PlainColumn.isSame("metadata")))
            """,
            """
            SELECT resource AS id FROM main.resourceKey AS now
                WHERE resource IN (SELECT id FROM former.resource)
                AND NOT EXISTS (SELECT 1 FROM former.resourceKey AS was WHERE was.resource = now.resource
                    AND was.number = now.number)
            """,
            """
            SELECT resource AS id FROM former.representation AS was
                WHERE \(PlainColumn.isSealed("info", upTo: RepresentationRow.maxBytes))
                AND NOT EXISTS (SELECT 1 FROM main.representation AS now
                    WHERE now.id = was.id AND now.resource = was.resource AND \(PlainColumn.isSame("info")))
            """,
        ]
        var ids: Set<ResourceID> = []
        for query in queries {
            let found = try rows(
                """
                SELECT DISTINCT id FROM (\(query)) AS lost WHERE \(ResourceRow.hasID)
                """, orAllOf: "SELECT id FROM main.resource WHERE \(ResourceRow.hasID)")
            for row in found { if let id = ResourceID(try row.column("id") as Data) { ids.insert(id) } }
        }
        return try ids.union(resourcesWithLostKeys()).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }

    /// Returns the resources that have a key that opens in the catalog but not in the database to repair.
    ///
    /// A key that was merely rewrapped under another generation still opens, and is not lost.
    private func resourcesWithLostKeys() throws -> [ResourceID] {
        let differing = """
            SELECT was.resource AS resource, was.number AS number, was.generation AS generation,
                was.wrapped AS wrapped, now.generation AS newGeneration,
                CASE WHEN \(PlainColumn.isSealed("now.wrapped", upTo: ResourceKeyRow.wrappedBytes))
                    THEN now.wrapped END AS newWrapped
            FROM former.resourceKey AS was
            LEFT JOIN main.resourceKey AS now ON now.resource = was.resource AND now.number = was.number
            WHERE \(PlainColumn.isSealed("was.wrapped", upTo: ResourceKeyRow.wrappedBytes))
                AND NOT (now.generation IS was.generation AND \(PlainColumn.isSame("wrapped")))
            """
        let candidates = "SELECT id AS resource FROM main.resource WHERE \(ResourceRow.hasID)"
        return try rows(differing, orAllOf: candidates, where: isLostKey).compactMap { row in
            ResourceID(try row.column("resource") as Data)
        }
    }

    private func isLostKey(_ row: Row) throws -> Bool {
        guard let was = try? ResourceKeyRow(row) else { return false }
        // A wrapped key is bound to its resource and number, so a key that opens under them is the resource's own.
        if let generation = try? row.column("newGeneration", in: PlainColumn.numbers),
            let wrapped = (try? row.column("newWrapped") as Data)?.array,
            try index.keyring.unwrap(wrapped, resource: was.resource, number: was.number, generation: generation) != nil
        {
            return false
        }
        // If the key does not open in the catalog either, there is nothing to restore.
        return try was.key(index.keyring) != nil
    }

    /// Returns whether every title that a resource is a part of was erased, and the resource with them.
    private func wentWithTitles(_ former: OpenedResource) throws -> Bool {
        guard let locator = try VaultRow.locator(db), !former.metadata.partOf.isEmpty else { return false }
        return try former.metadata.partOf.allSatisfy { key in
            guard let title = index.keyring.resourceID(cacheKey: key, locator: locator) else { return false }
            return try !ResourceRow.exists(title, db) && wasErased(ErasedRow.resource, title.data)
        }
    }

    /// Returns the representations of a resource that open in the catalog. A row that does not open may belong to
    /// another resource.
    private func representations(of former: OpenedResource) throws -> [RepresentationID] {
        try Data.fetchAll(
            catalog,
            sql: "SELECT id FROM representation WHERE resource = ? AND \(RepresentationRow.isPossible)",
            arguments: [former.id.data]
        ).compactMap { RepresentationID($0) }.filter { try index.representations.opens($0, of: former, catalog) }
    }

    /// Returns whether one of the representations now belongs to another resource and opens under that resource's key.
    private func areOthers(_ representations: [RepresentationID], than id: ResourceID) throws -> Bool {
        try representations.contains { representation in
            guard let owner = try RepresentationRow.fetch(representation, db)?.resource, owner != id,
                let other = try index.resources.opened(owner, db)
            else { return false }
            return try index.representations.opens(representation, of: other, db)
        }
    }

    /// Restores those rows of a resource that do not open. Rows that segments refer to are never deleted, because the
    /// segments hold bytes.
    ///
    /// - Parameters:
    ///   - representations: the resource's representations that open in the catalog.
    ///   - keepsMetadata: whether to keep metadata that already opens in the database to repair.
    private func copy(_ former: OpenedResource, _ representations: [RepresentationID], keepsMetadata: Bool) throws {
        let id = former.id
        try deleteUnopenedKeys(of: id)
        let columns = ResourceRow.corrected(now: index.now())
        try db.execute(
            literal: """
                INSERT OR IGNORE INTO main.resource SELECT \(sql: columns) FROM former.resource WHERE id = \(id.data)
                """)
        try db.execute(
            literal: """
                INSERT INTO main.resourceKey SELECT * FROM former.resourceKey
                    WHERE resource = \(id.data) AND \(sql: PlainColumn.isResourceKey)
                        AND length(wrapped) = \(ResourceKeyRow.wrappedBytes)
                ON CONFLICT (resource, number) DO NOTHING
                """)
        if try !keepsMetadata || index.resources.opened(id, db) == nil {
            try db.execute(
                literal: """
                    INSERT INTO main.resource SELECT \(sql: columns) FROM former.resource WHERE id = \(id.data)
                    ON CONFLICT (id) DO UPDATE SET key = excluded.key, metadata = excluded.metadata
                    """)
        }
        guard let mended = try index.resources.opened(id, db) else { throw NothingGained() }
        for representation in representations {
            // A representation that already opens may be newer than the catalog's. The catalog's may be sealed under a
            // former key of the resource, and then it does not open.
            guard try !index.representations.opens(representation, of: mended, db),
                try index.representations.opens(representation, of: mended, catalog)
            else { continue }
            try db.execute(
                literal: """
                    INSERT INTO main.representation SELECT \(sql: RepresentationRow.corrected)
                        FROM former.representation WHERE id = \(representation.data)
                    ON CONFLICT (id) DO UPDATE SET resource = excluded.resource, info = excluded.info
                    """)
        }
        guard try index.representations.opensServed(of: mended, db) else { throw NothingGained() }
    }

    /// Deletes those keys of a resource that do not open. The others are kept, because a reseal may have sealed
    /// segments under them since the catalog was written.
    private func deleteUnopenedKeys(of id: ResourceID) throws {
        let rows = try Row.fetchAll(
            db, sql: "SELECT \(ResourceKeyRow.columns) FROM main.resourceKey WHERE resource = ?", arguments: [id.data])
        for row in rows {
            if let key = try? ResourceKeyRow(row), try key.key(index.keyring) != nil { continue }
            try db.execute(
                sql: "DELETE FROM main.resourceKey WHERE resource = ? AND number IS ?",
                arguments: [id.data, row["number"] as DatabaseValue])
        }
    }
}

extension OpenedResource {
    /// The generations that wrap the resource's keys.
    fileprivate var generations: Set<Int> { Set(keys.values.map(\.row.generation)) }
}
