import Foundation
import GRDB
import VaultCrypto
package import VaultModel

// The members of a title's sealed record that state how complete the title is: `bytes`, `size`, `complete`, `linked`
// (the number of resources that belonged to the title when it was last complete), `lost` (whether one of them has lost
// bytes since) and `missing` (why the last fetch did not get the whole title).
extension ResourceMetadata {
    /// The number of held bytes of the title's resources; nil if the resource is not a title's manifest.
    var titleBytes: Int64? { titleNumber("bytes") }

    /// Whether every one of the title's resources is held in full.
    var isTitleComplete: Bool { title?["complete"] == .bool(true) }

    /// Returns a number from the title's record. An invalid number counts as absent.
    fileprivate func titleNumber(_ name: String) -> Int64? { title.flatMap { try? $0.integer(name) } }

    /// Records how much of the title is held.
    ///
    /// - Parameter bytes: the number of held bytes; nil to leave the recorded number unchanged.
    mutating func recordTitle(isComplete: Bool, bytes: Int64? = nil) {
        guard var record = title else { return }
        // Older versions recorded no size. It is the number of bytes that the complete title had.
        if isTitleComplete, titleNumber("size") == nil {
            record["size"] = titleBytes.map { .integer($0) }
        }
        record["complete"] = .bool(isComplete)
        record["lost"] = isComplete ? nil : .bool(true)
        if isComplete { record["missing"] = nil }
        if let bytes { record["bytes"] = .integer(max(0, bytes)) }
        title = record
    }
}

/// The titles' records of how complete they are.
///
/// A title is complete from the time when all of it has been fetched until one of its resources loses bytes. The
/// transaction that loses bytes also records the loss, so that no title with a gap is listed as complete.
package struct TitleCompleteness {
    private let index: VaultIndex

    init(_ index: VaultIndex) { self.index = index }

    /// Records that a resource has lost bytes, in each title of which the resource is a part or the manifest.
    ///
    /// A title whose rows do not open is left unchanged, because it cannot be listed, either.
    ///
    /// - Parameter isEverything: whether none of the resource is held any more. If the resource is a title, it then
    ///   counts as holding nothing, even if it shares bytes with other titles.
    func noteLoss(
        of bytes: Int64, from resource: ResourceID, isEverything: Bool = false, _ db: Database
    ) throws {
        // Parts of a title that were only played, or added to it, do not count towards its completeness.
        let isKept = try ResourceRow.fetch(resource, db)?.resourceClass != .cache
        var titles = try isKept && PartRow.hasTable(db) ? PartRow.titles(of: resource, db) : []
        if !titles.isEmpty, (try? index.resources.opened(resource, db))?.metadata.isAddedSubtitles == true {
            titles = []
        }
        for title in titles.union([resource]) {
            try changeRecord(of: title, db) { metadata in
                let left = isEverything && title == resource ? 0 : metadata.titleBytes.map { $0 - bytes }
                metadata.recordTitle(isComplete: false, bytes: left)
            }
        }
    }

    /// Records that a segment's resource has lost bytes, in the same way as ``noteLoss(of:from:isEverything:_:)``.
    func noteLoss(of bytes: Int64, fromSegment id: SegmentID, _ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                SELECT representation.resource FROM segment
                JOIN representation ON representation.id = segment.representation WHERE segment.id = ?
                """)
        let resource = try Data.fetchOne(statement, arguments: [id.data]).flatMap { ResourceID($0) }
        if let resource { try noteLoss(of: bytes, from: resource, db) }
    }

    private func changeRecord(
        of title: ResourceID, _ db: Database, _ change: (inout ResourceMetadata) -> Void
    ) throws {
        guard var opened = try? index.resources.opened(title, db), opened.metadata.title != nil else { return }
        change(&opened.metadata)
        let sealed = try ResourceRow.seal(opened.metadata, of: title, under: opened.metadataKey.secret)
        try ResourceRow.update(title, metadata: sealed, db)
    }

    /// Returns metadata that is to be written, updated with the title's losses that the index has recorded.
    ///
    /// Losses are recorded only in the index, so the caller's copy of the metadata may be out of date. Even a caller
    /// that has just fetched the whole title does not know which bytes were lost during the fetch.
    func withRecordedLosses(
        _ metadata: ResourceMetadata, of resource: StoredResource, _ db: Database
    ) throws -> ResourceMetadata {
        guard let record = metadata.title else { return metadata }
        let now = (try? index.resources.opened(resource.id, db))?.metadata.title
        var metadata = metadata
        if record.members == resource.metadata.title?.members {
            metadata.title = now ?? record
        } else if metadata.isTitleComplete {
            if now?["lost"] == .bool(true) {
                metadata.recordTitle(isComplete: false)
            } else {
                let linked = try linkedCount(of: resource.id, db) - metadata.subtitles.count
                metadata.title?["linked"] = .integer(Int64(linked))
            }
        }
        return metadata
    }

    /// Returns the number of resources that belong to a title: the title itself, its parts except those that were only
    /// played, but with those that were added, and the files in its packs.
    private func linkedCount(of title: ResourceID, _ db: Database) throws -> Int {
        guard try PartRow.hasTable(db) else { return 1 }
        let hasPacks = try PackedPartRow.hasTable(db)
        let isNoPack = hasPacks ? "AND part.resource NOT IN (SELECT pack FROM packedPart)" : ""
        let parts =
            try Int.fetchOne(
                db,
                sql: """
                    SELECT count(*) FROM part JOIN resource ON resource.id = part.resource
                    WHERE title = ? AND resource.class <> 'cache' \(isNoPack)
                    """, arguments: [title.data]) ?? 0
        guard hasPacks else { return 1 + parts }
        let files =
            try Int.fetchOne(
                db,
                sql: """
                    SELECT count(DISTINCT packedPart.id) FROM packedPart JOIN part ON part.resource = packedPart.pack
                    WHERE part.title = ?
                    """, arguments: [title.data]) ?? 0
        return 1 + parts + files
    }

    // MARK: Counting

    /// How much of a title is held.
    private struct TitleContents {
        var resources = 0
        var bytes: Int64 = 0
        var isWhole = true

        mutating func add(_ copies: [StoredResource]) {
            resources += 1
            let best = copies.first(where: \.isWhole) ?? copies.first
            bytes += best?.serving?.held.byteCount ?? 0
            isWhole = isWhole && best?.isWhole ?? false
        }
    }

    /// Counts and records how much is held of the titles that are not recorded as complete.
    ///
    /// A title is complete if every resource that belongs to it is whole, and if it has at least as many resources as
    /// when it was last complete, counting those of an earlier selection. If it has fewer, only a fetch can show
    /// whether it is complete.
    ///
    /// - Parameters:
    ///   - titles: the titles to recount; nil for all.
    ///   - doubting: whether to recount titles that are recorded as complete, too, because their segments may be gone.
    package func recount(_ titles: [ResourceID]? = nil, doubting: Bool = false) throws {
        var page = try titles ?? pageOfTitles(after: nil)
        while let last = page.last {
            for title in page { try recount(title, doubting: doubting) }
            page = titles == nil ? try pageOfTitles(after: last) : []
        }
    }

    private func recount(_ title: ResourceID, doubting: Bool) throws {
        let counted = try index.read { db -> (contents: TitleContents, before: [String: JSONValue])? in
            // A title whose rows do not open is left out, because it is not listed, either.
            guard let manifest = (try? index.resources.find(title, db)) ?? nil, let record = manifest.metadata.title,
                doubting || !manifest.metadata.isTitleComplete
            else { return nil }
            return (try contents(of: manifest, db), record.members)
        }
        guard let (contents, before) = counted else { return }
        try index.write { db in
            try changeRecord(of: title, db) { metadata in
                // Another change may have been recorded since the count.
                guard metadata.title?.members == before else { return }
                // Without this number, the title was never complete, and it is unknown which resources belong to it.
                let wanted = metadata.titleNumber("linked")
                let isWhole = contents.isWhole && wanted.map { contents.resources >= $0 } ?? false
                let held = min(contents.bytes, metadata.titleBytes ?? 0)
                metadata.recordTitle(isComplete: isWhole, bytes: isWhole ? metadata.titleNumber("size") : held)
            }
        }
    }

    private func contents(of manifest: StoredResource, _ db: Database) throws -> TitleContents {
        var contents = TitleContents()
        contents.add([manifest])
        var packed: [ResourceID: [StoredResource]] = [:]
        for part in try PartRow.parts(of: manifest.id, db)
        where try ResourceRow.fetch(part.id, db)?.resourceClass != .cache {
            let files = try PackedPartRow.fetch(in: part.id, db)
            for file in files { packed[file.id, default: []] += try index.packs.copy(file, db).map { [$0] } ?? [] }
            let copy = files.isEmpty ? (try? index.resources.find(part.id, db)).flatMap(\.self) : nil
            if files.isEmpty, copy?.metadata.isAddedSubtitles != true { contents.add(copy.map { [$0] } ?? []) }
        }
        for copies in packed.values { contents.add(copies) }
        return contents
    }

    private func pageOfTitles(after last: ResourceID?) throws -> [ResourceID] {
        let pageSize = 500
        return try index.read { db in
            guard try PartRow.hasTable(db) else { return [] }
            return try Data.fetchAll(
                db, sql: "SELECT DISTINCT title FROM part WHERE title > ? ORDER BY title LIMIT ?",
                arguments: [last?.data ?? Data(), pageSize]
            ).compactMap { ResourceID($0) }
        }
    }
}
