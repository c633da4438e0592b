import Foundation
import GRDB
import VaultCrypto
package import VaultModel

extension VaultIndex {
    // MARK: Reading

    /// Returns a resource with its serving representation; nil if the vault has no such resource.
    package func resource(_ id: ResourceID) throws -> StoredResource? {
        try read { db in try self.resource(id, db) }
    }

    func resource(_ id: ResourceID, _ db: Database) throws -> StoredResource? {
        try Row.fetchOne(db, sql: "SELECT * FROM resource WHERE id = ?", arguments: [id.data])
            .map { try self.resource($0, db) }
    }

    /// Returns a page of resources in the order of their ids, after the given one.
    ///
    /// A resource whose rows are damaged is returned as an id only.
    package func resources(after: ResourceID?, limit: Int) throws -> [(id: ResourceID, resource: StoredResource?)] {
        try read { db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT * FROM resource WHERE id > ? ORDER BY id LIMIT ?",
                arguments: [after?.data ?? Data(), limit])
            return try rows.map { row in
                guard let id = ResourceID(try row.column("id")) else { throw IndexError.damaged }
                do {
                    return (id, try self.resource(row, db))
                } catch let error as VaultError where error.code == .integrity {
                    return (id, nil)
                }
            }
        }
    }

    /// Returns the number of resources, of bytes that the index states as held, of segments and of pending deletions.
    ///
    /// Bad blocks are included in the bytes.
    package func totals() throws -> (resources: Int, bytes: Int64, segments: Int, doomed: Int) {
        try read { db in
            (
                try Int.fetchOne(db, sql: "SELECT count(*) FROM resource") ?? 0,
                try Int64.fetchOne(
                    db, sql: "SELECT total(length) FROM segment WHERE \(PlainColumn.isSegment)") ?? 0,
                try Int.fetchOne(db, sql: "SELECT count(*) FROM segment") ?? 0,
                try Int.fetchOne(db, sql: "SELECT count(*) FROM doomed") ?? 0
            )
        }
    }

    private func resource(_ row: Row, _ db: Database) throws -> StoredResource {
        // An impossible value damages its own row, not the page of results that includes it.
        try IndexError.translating { try opened(row, db) }
    }

    private func opened(_ row: Row, _ db: Database) throws -> StoredResource {
        guard let id = ResourceID(try row.column("id")),
            let resourceClass = ResourceClass(rawValue: try row.column("class"))
        else { throw IndexError.damaged }
        let keyNumber = try row.column("key", in: PlainColumn.numbers)
        let (keys, generation) = try keys(of: id, current: keyNumber, db)
        guard let key = keys[keyNumber] else { throw IndexError.damaged }
        let metadataKey = try KeyDerivation.key(from: key.secret, .metadata)
        guard
            let object = SealedDocument.open(
                Array(try row.column("metadata") as Data), key: metadataKey, associatedData: Self.metadataData(id)),
            let metadata = ResourceMetadata(object)
        else { throw IndexError.damaged }
        return StoredResource(
            id: id, metadata: metadata, resourceClass: resourceClass, keyNumber: keyNumber, keys: keys,
            generation: generation, accessed: try row.column("accessed", in: PlainColumn.hours),
            serving: try metadata.serving.flatMap { try self.representation($0, of: id, key: metadataKey, db) })
    }

    private func keys(
        of id: ResourceID, current: Int, _ db: Database
    ) throws -> (keys: [Int: SharedKey], generation: Int) {
        var keys: [Int: SharedKey] = [:]
        var currentGeneration = 0
        let rows = try Row.fetchAll(db, sql: "SELECT * FROM resourceKey WHERE resource = ?", arguments: [id.data])
        for row in rows {
            let number = try row.column("number", in: PlainColumn.numbers)
            let generation = try row.column("generation", in: PlainColumn.numbers)
            let wrapped = Array(try row.column("wrapped") as Data)
            guard let key = try keyring.unwrap(wrapped, resource: id, number: number, generation: generation) else {
                throw VaultError(
                    .integrity,
                    """
                    a resource key does not open under generation \(generation) of this keyring; restore the keyring \
                    or remove the resource
                    """
                )
            }
            keys[number] = key
            if number == current { currentGeneration = generation }
        }
        return (keys, currentGeneration)
    }

    private func representation(
        _ id: RepresentationID, of resource: ResourceID, key: borrowing SecretKey, _ db: Database
    ) throws -> StoredRepresentation? {
        guard
            let sealed = try Data.fetchOne(
                db, sql: "SELECT info FROM representation WHERE id = ? AND resource = ?",
                arguments: [id.data, resource.data])
        else { return nil }
        guard
            let object = SealedDocument.open(
                Array(sealed), key: key, associatedData: Self.infoData(resource, id)),
            let info = RepresentationInfo(object)
        else { throw IndexError.damaged }
        let segments = try Row.fetchAll(
            db, sql: "SELECT * FROM segment WHERE representation = ? AND length > 0 ORDER BY start",
            arguments: [id.data]
        ).compactMap { Self.segment($0) }
        var badBlocks: [SegmentID: Set<Int>] = [:]
        let bad = try Row.fetchAll(
            db,
            sql: """
                SELECT badBlock.segment, badBlock.block FROM badBlock JOIN segment ON segment.id = badBlock.segment
                WHERE segment.representation = ?
                """, arguments: [id.data])
        for row in bad {
            if let id = SegmentID(try row.column("segment")) {
                badBlocks[id, default: []].insert(try row.column("block"))
            }
        }
        return StoredRepresentation(id: id, info: info, segments: segments, badBlocks: badBlocks)
    }

    /// Returns a row's segment; nil if its numbers are impossible, so that it is a gap and never wrong bytes.
    static func segment(_ row: Row) -> SegmentDescription? {
        guard let id = try? SegmentID(row.column("id")),
            let representation = try? RepresentationID(row.column("representation")),
            let keyNumber = try? row.column("key", in: PlainColumn.numbers),
            let blockSize: Int = try? row.column("blockSize"), let bytes = range(row),
            let state: String = try? row.column("state"), ["open", "closed"].contains(state)
        else { return nil }
        let segment = SegmentDescription(
            id: id, representation: representation, keyNumber: keyNumber, blockSize: blockSize,
            start: bytes.lowerBound, length: bytes.length)
        return segment.isPossible ? segment : nil
    }

    /// Returns the bytes that a segment row names; nil if there can be no such bytes.
    static func range(_ row: Row) -> ByteRange? {
        let most = ContentInformation.maxBytes
        guard let start = try? row.column("start", in: 0...most),
            let length = try? row.column("length", in: 0...SegmentDescription.maxBytes), start <= most - length
        else { return nil }
        return start..<start + length
    }

    static func metadataData(_ id: ResourceID) -> [UInt8] {
        SealedDocument.associatedData("resource", "metadata", id.bytes)
    }

    static func infoData(_ resource: ResourceID, _ id: RepresentationID) -> [UInt8] {
        SealedDocument.associatedData("representation", "info", resource.bytes, id.bytes)
    }

    // MARK: Writing

    /// Adds a resource with a new random key, wrapped under the current generation.
    package func addResource(
        _ id: ResourceID, metadata: ResourceMetadata, resourceClass: ResourceClass, now: Int64
    ) throws -> StoredResource {
        let key = SharedKey(try SecureRandom.key("resource key"))
        let number = 1
        let metadataKey = try KeyDerivation.key(from: key.secret, .metadata)
        let sealed = try SealedDocument.seal(
            metadata.object, key: metadataKey, associatedData: Self.metadataData(id))
        let accessed = PlainColumn.hour(of: now)
        let generation = try writeWithoutSync { db in
            // Inside the transaction: the generation that is current now cannot be retired before this is written.
            let generation = keyring.currentGeneration
            guard let wrapped = try keyring.wrap(key.secret, resource: id, number: number, generation: generation)
            else { throw IndexError.damaged }
            try db.execute(
                sql: "INSERT INTO resource VALUES (?, ?, ?, ?, ?)",
                arguments: [id.data, number, sealed.data, resourceClass.rawValue, accessed])
            try db.execute(
                sql: "INSERT INTO resourceKey VALUES (?, ?, ?, ?)",
                arguments: [id.data, number, generation, wrapped.data])
            return generation
        }
        return StoredResource(
            id: id, metadata: metadata, resourceClass: resourceClass, keyNumber: number, keys: [number: key],
            generation: generation, accessed: accessed, serving: nil)
    }

    /// Adds a representation that is being filled; the former one stays in use until ``serve(_:of:)``.
    package func add(_ representation: StoredRepresentation, to resource: StoredResource) throws {
        guard let key = resource.keys[resource.keyNumber] else { throw IndexError.damaged }
        let metadataKey = try KeyDerivation.key(from: key.secret, .metadata)
        let info = try SealedDocument.seal(
            representation.info.object, key: metadataKey, associatedData: Self.infoData(resource.id, representation.id))
        try writeWithoutSync { db in
            try db.execute(
                sql: "INSERT INTO representation VALUES (?, ?, 'filling', ?)",
                arguments: [representation.id.data, resource.id.data, info.data])
        }
    }

    /// Makes a representation the one that is read.
    ///
    /// The resource's other representations are deleted, and their segments become pending deletions.
    ///
    /// - Returns: the new metadata.
    package func serve(_ representation: RepresentationID, of resource: StoredResource) throws -> ResourceMetadata {
        var metadata = resource.metadata
        metadata.serving = representation
        guard let key = resource.keys[resource.keyNumber] else { throw IndexError.damaged }
        let metadataKey = try KeyDerivation.key(from: key.secret, .metadata)
        let id = resource.id
        let sealed = try SealedDocument.seal(
            metadata.object, key: metadataKey, associatedData: Self.metadataData(id))
        let change = { (db: Database) in
            let others = try Data.fetchAll(
                db, sql: "SELECT id FROM representation WHERE resource = ? AND id <> ?",
                arguments: [id.data, representation.data])
            for other in others {
                try Self.markSegmentsForDeletion(of: other, db)
                try db.execute(sql: "DELETE FROM representation WHERE id = ?", arguments: [other])
            }
            try db.execute(
                sql: "UPDATE representation SET state = 'serving' WHERE id = ?", arguments: [representation.data])
            try db.execute(sql: "UPDATE resource SET metadata = ? WHERE id = ?", arguments: [sealed.data, id.data])
        }
        // The first representation has nothing to serve yet, and replaces no other.
        if resource.metadata.serving == nil { try writeWithoutSync(change) } else { try write(change) }
        return metadata
    }

    /// Deletes the representations that the last owner left without anything to serve.
    ///
    /// Their segments become pending deletions.
    package func dropFilling() throws {
        try write { db in
            for id in try Data.fetchAll(db, sql: "SELECT id FROM representation WHERE state = 'filling'") {
                try Self.markSegmentsForDeletion(of: id, db)
                try db.execute(sql: "DELETE FROM representation WHERE id = ?", arguments: [id])
            }
        }
    }

    /// Writes new information about a representation, such as its length.
    package func update(_ info: RepresentationInfo, of id: RepresentationID, resource: StoredResource) throws {
        guard let key = resource.keys[resource.keyNumber] else { throw IndexError.damaged }
        let metadataKey = try KeyDerivation.key(from: key.secret, .metadata)
        let sealed = try SealedDocument.seal(
            info.object, key: metadataKey, associatedData: Self.infoData(resource.id, id))
        try write { db in
            try db.execute(
                sql: "UPDATE representation SET info = ? WHERE id = ?", arguments: [sealed.data, id.data])
        }
    }

    /// Records that resources were read in this hour.
    package func touch(_ ids: [ResourceID], now: Int64) throws {
        let hour = PlainColumn.hour(of: now)
        try write { db in
            for id in ids {
                try db.execute(
                    sql: "UPDATE resource SET accessed = ? WHERE id = ? AND accessed < ?",
                    arguments: [hour, id.data, hour])
            }
        }
    }
}

extension VaultIndex {
    /// Seals and writes the metadata of a resource.
    func write(_ metadata: ResourceMetadata, of resource: StoredResource) throws {
        guard let key = resource.keys[resource.keyNumber] else { throw IndexError.damaged }
        let metadataKey = try KeyDerivation.key(from: key.secret, .metadata)
        let sealed = try SealedDocument.seal(
            metadata.object, key: metadataKey, associatedData: Self.metadataData(resource.id))
        try write { db in
            try db.execute(
                sql: "UPDATE resource SET metadata = ? WHERE id = ?", arguments: [sealed.data, resource.id.data])
        }
    }

    /// Reseals the information on a resource's representations under another key, another resource id, or both.
    ///
    /// - Parameters:
    ///   - id: the former id of the resource.
    ///   - newID: the id that its rows already have.
    /// - Returns: the number of those that do not open and stay as they are.
    func resealInfos(
        of id: ResourceID, under key: borrowing SecretKey, as newID: ResourceID, under newKey: borrowing SecretKey,
        _ db: Database
    ) throws -> Int {
        let rows = try Row.fetchAll(
            db, sql: "SELECT id, info FROM representation WHERE resource = ?", arguments: [newID.data])
        var unopened = 0
        for row in rows {
            guard let name: Data = try? row.column("id"), let representation = RepresentationID(name),
                let former: Data = try? row.column("info"),
                let info = SealedDocument.open(
                    Array(former), key: key,
                    associatedData: Self.infoData(id, representation))
            else {
                unopened += 1
                continue
            }
            let sealed = try SealedDocument.seal(
                info, key: newKey, associatedData: Self.infoData(newID, representation))
            try db.execute(
                sql: "UPDATE representation SET info = ? WHERE id = ?", arguments: [sealed.data, representation.data])
        }
        return unopened
    }
}
