import Foundation
import GRDB
import VaultCrypto
import VaultModel

/// The rows of `cover`: the pictures that were set for titles, each sealed under its title's own key.
///
/// The title's sealed metadata names the picture by its tag, so that neither another picture nor an earlier one can
/// take its place.
enum CoverRow {
    /// The maximum total size of all titles' sealed pictures, in bytes. It is limited because `catalog.backup` copies
    /// all of them.
    static let maxTotal: Int64 = 256 << 20
    /// The same limit for adding a feed's picture. It is half as high, so that feeds leave room for the pictures that
    /// people set.
    static let maxTotalWithFeeds = maxTotal / 2
    /// The padding step, in bytes: a picture is padded with zeros to a multiple of it before it is sealed, so that its
    /// length reveals little.
    private static let step = 16 << 10
    /// The size, in bytes, of the length field that precedes a picture.
    private static let lengthBytes = 4
    /// The maximum number of a title's rows that are read. Writers leave only one.
    private static let maxRows = 4

    /// The maximum size of a sealed picture, in bytes.
    static let maxBytes = padded(ResourceMetadata.maxCoverBytes + lengthBytes) + SealedValue.overhead

    /// The SQL condition that a row holds valid values.
    static let isPossible =
        "(\(PlainColumn.isID("resource")) AND \(PlainColumn.isSealed("picture", upTo: maxBytes)))"

    /// Returns whether a database has the table, which older vaults lack.
    static func hasTable(of schema: String = "main", _ db: Database) throws -> Bool {
        try IndexSchema.hasTable("cover", of: schema, db)
    }

    /// Opens the picture that a tag identifies. Returns nil if there is none, or if it does not open.
    ///
    /// - Parameter id: the id that the title had when the picture was sealed, if the id has changed since.
    static func fetch(
        _ tag: CoverTag, of resource: ResourceID, sealedAs id: ResourceID? = nil, under key: borrowing SecretKey,
        _ db: Database
    ) throws -> [UInt8]? {
        guard try hasTable(db) else { return nil }
        let rows = try Data.fetchAll(
            db, sql: "SELECT picture FROM cover WHERE resource = ? AND \(isPossible) LIMIT \(maxRows)",
            arguments: [resource.data])
        for row in rows {
            if let picture = open(row.array, tag, of: id ?? resource, under: key) { return picture }
        }
        return nil
    }

    /// Seals and writes a title's picture, replacing the previous one.
    static func write(
        _ picture: [UInt8], _ tag: CoverTag, of resource: ResourceID, under key: borrowing SecretKey, _ db: Database
    ) throws {
        // The table may be missing, because the disk may have had no space for it when the owner opened the vault.
        for statement in [IndexSchema.cover, IndexSchema.coverByResource] {
            try db.execute(sql: IndexSchema.ifAbsent(statement))
        }
        try delete(of: resource, db)
        let sealed = try seal(picture, tag, of: resource, under: key)
        try db.execute(sql: "INSERT INTO cover VALUES (?, ?)", arguments: [resource.data, sealed.data])
    }

    /// Requires that the total size of all titles' sealed pictures is within a limit.
    ///
    /// - Parameter limit: the limit in bytes.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the total exceeds the limit.
    static func checkTotal(upTo limit: Int64, _ db: Database) throws {
        guard try Int64.fetchOne(db, sql: "SELECT total(length(picture)) FROM cover") ?? 0 > limit else { return }
        throw VaultError(
            .invalidArgument,
            "the covers of all titles would take more than \(Quantity.readable(bytes: limit)); give a smaller "
                + "picture, or remove other covers")
    }

    /// Deletes a title's picture.
    static func delete(of resource: ResourceID, _ db: Database) throws {
        guard try hasTable(db) else { return }
        try db.execute(sql: "DELETE FROM cover WHERE resource = ?", arguments: [resource.data])
    }

    /// Seals a resource's picture again under another key, another resource id, or both. A picture that does not open
    /// is left unchanged.
    ///
    /// - Parameters:
    ///   - id: the resource's former id.
    ///   - newID: the id that the resource's rows already have.
    static func reseal(
        _ tag: CoverTag?, of id: ResourceID, under key: borrowing SecretKey, as newID: ResourceID,
        under newKey: borrowing SecretKey, _ db: Database
    ) throws {
        guard let tag, let picture = try fetch(tag, of: newID, sealedAs: id, under: key, db) else { return }
        try write(picture, tag, of: newID, under: newKey, db)
    }

    // MARK: Sealing

    private static func seal(
        _ picture: [UInt8], _ tag: CoverTag, of resource: ResourceID, under key: borrowing SecretKey
    ) throws -> [UInt8] {
        let length = (0..<lengthBytes).reversed().map { UInt8(truncatingIfNeeded: picture.count >> ($0 * 8)) }
        let size = padded(lengthBytes + picture.count)
        let zeros = [UInt8](repeating: 0, count: size - lengthBytes - picture.count)
        return try SealedValue.seal(length + picture + zeros, key: key, associatedData: pictureData(resource, tag))
    }

    private static func open(
        _ sealed: [UInt8], _ tag: CoverTag, of resource: ResourceID, under key: borrowing SecretKey
    ) -> [UInt8]? {
        guard let plaintext = SealedValue.open(sealed, key: key, associatedData: pictureData(resource, tag)),
            plaintext.count >= lengthBytes
        else { return nil }
        let length = plaintext.prefix(lengthBytes).reduce(0) { $0 << 8 | Int($1) }
        guard (1...ResourceMetadata.maxCoverBytes).contains(length), length <= plaintext.count - lengthBytes else {
            return nil
        }
        return Array(plaintext[lengthBytes..<lengthBytes + length])
    }

    private static func padded(_ count: Int) -> Int { (count + step - 1) / step * step }

    private static func pictureData(_ resource: ResourceID, _ tag: CoverTag) -> [UInt8] {
        SealedDocument.associatedData("cover", "picture", resource.bytes, tag.bytes)
    }
}
