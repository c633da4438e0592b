import VaultCache
import VaultModel
import VaultStorage

// Checks the rows in the index, and from there the files.
extension Verifier {
    mutating func checkSettings() async throws {
        do {
            _ = try await blocking { try $0.index.settings().networkSettings() }
        } catch let error as VaultError where [.integrity, .foreignKeyring].contains(error.code) {
            try await requireNewestKeys()
            report.note(.settings, isMended: false)
        }
    }

    /// Restores rows that only `catalog.backup` still has intact, before anything that does not open is given up.
    mutating func restore() async throws {
        let found = try await blocking { try CatalogRestore($0).run() }
        for (kind, count) in [(DamageClass.resource, found.resources), (.row, found.rows), (.record, found.records)]
        where count > 0 {
            report.note(kind, count, isMended: true)
        }
        report.restored = found.resources
    }

    /// Checks that the records of every kind open. A repair deletes records that nothing can open.
    mutating func checkRecords() async throws {
        for found in try await rows({ try $0.unreadableRecords() }) {
            try await requireNewestKeys()
            let forgets = options.forgetsRetired
            let left =
                options.repairs
                ? try await rows { try $0.dropUnreadable(found, forgettingLacked: forgets) } : found.count
            report.note(.record, found.count - left, isMended: true)
            report.note(.record, left, isMended: false)
            report.records.append(
                DamagedRecords(
                    kind: found.title, count: found.count, isRepaired: left == 0,
                    problem: left == 0 ? nil : Self.problem(found, isRepair: options.repairs)))
        }
    }

    private static func problem(_ records: VerificationRows.UnreadableRecords, isRepair: Bool) -> String {
        if records.lacked > 0 {
            return
                "they were sealed by a generation whose key the keyring does not have any more: this copy of the vault is "
                + "older than its keys; use the keyring of its time, or let a repair forget what was retired"
        }
        return isRepair ? "they cannot be deleted now; repair again" : "a repair restores them, or deletes them"
    }

    /// Checks that the owner has not changed the keys during this check. If it has, rows that this process cannot open
    /// are not damage.
    ///
    /// - Throws: ``VaultError`` with code `olderKeyring` if the keys were changed.
    private func requireNewestKeys() async throws {
        guard try await blocking({ try $0.index.isNewerThanKeyring() }) else { return }
        throw VaultError(
            .olderKeyring, "the keys of the vault were changed while it was checked; open it again, and verify again")
    }

    mutating func checkResources() async throws {
        var last: ResourceID?
        while true {
            let after = last
            let page = try await rows { try $0.resourceIDs(after: after, limit: Self.rowsPerPage) }
            for id in page { try await check(id) }
            guard let end = page.last else { return }
            last = end
        }
    }

    /// Checks one resource's rows and segments.
    mutating func check(_ id: ResourceID) async throws {
        let resource: StoredResource
        do {
            // The resource may have been removed since its id was read.
            guard let found = try await blocking({ try $0.index.resources.find(id) }) else { return }
            resource = found
        } catch let error as VaultError where error.code == .integrity {
            try await requireNewestKeys()
            return try await settle(unopened: id)
        }
        if resource.lacksServing { try await settleMissingServing(of: resource) }
        for representation in try await rows({ try $0.representations(of: id) }) {
            let ledger = try await check(representation, of: resource)
            if !ledger.isSound { try await settle(ledger, of: representation, resource) }
        }
        try await checkParts(of: resource)
        try await checkLinks(of: resource)
        try await checkCover(of: resource)
    }

    /// Reports that the row of a resource's serving representation is missing. Unless the row can be restored, a repair
    /// makes the resource fetchable again.
    private mutating func settleMissingServing(of resource: StoredResource) async throws {
        let id = resource.id
        var problem: String?
        if let restoration = try await restoration(of: id, "a row of it is missing") {
            problem = restoration
        } else if !options.repairs {
            problem = "the row of its bytes is missing; repair it, and fetch it again"
        } else if loaders.removeIfIdle(id) {
            try await rows { try $0.dropMissingServing(of: id) }
        } else {
            problem = "the row of its bytes is missing, but it is in use; repair again once nothing plays it"
        }
        report.note(.row, isMended: problem == nil)
        report.name(
            DamagedResource(
                id: id.hex, url: (try? MediaURL(resource.metadata.url))?.description, damage: [.row: 1], ranges: [],
                isRepaired: problem == nil, problem: problem))
    }

    /// Returns why a damaged resource is left as it is, because a repair can restore it, or may be able to later; nil
    /// if no repair can restore it.
    private func restoration(of id: ResourceID, _ what: String) async throws -> String? {
        do {
            let canRestore = try await blocking { try CatalogRestore($0).canRestore(id) }
            return canRestore ? "\(what), but can be restored; a repair restores it" : nil
        } catch let error as VaultError where [.storage, .owned].contains(error.code) {
            return "\(what), and what would restore it cannot be read now: \(error.message)"
        }
    }

    /// Checks that the rows of a pack's files open, and that a resource that is not a pack has no such rows. A repair
    /// deletes rows that fail this check.
    private mutating func checkParts(of pack: StoredResource) async throws {
        let count = try await blocking { try $0.index.packs.parts(of: pack).unopened }
        guard count > 0 else { return }
        if options.repairs { try await blocking { try $0.index.packs.dropUnopened(of: pack) } }
        note(count, of: pack, "rows of \(count) parts do not open; repair it, and fetch the title again")
    }

    /// Checks that a resource is linked to exactly the titles that it names. A repair corrects its links.
    private mutating func checkLinks(of resource: StoredResource) async throws {
        let count = try await blocking { try $0.index.titles.wrongLinks(of: resource.id) }
        guard count > 0 else { return }
        if options.repairs { try await blocking { try $0.index.titles.mendLinks(of: resource.id) } }
        note(count, of: resource, "its rows do not link it to the titles that it names, or to others; repair it")
    }

    /// Checks that the cover that was set for a resource opens. A repair cannot restore a cover.
    private mutating func checkCover(of resource: StoredResource) async throws {
        guard try await blocking({ try $0.covers.lacksPicture(resource) }) else { return }
        // The resource may have got another cover or another key since its row was read, so read the row again.
        guard let now = try await blocking({ try $0.index.resources.find(resource.id) }),
            try await blocking({ try $0.covers.lacksPicture(now) })
        else { return }
        report.note(.row, isMended: false)
        report.name(
            DamagedResource(
                id: resource.id.hex, url: (try? MediaURL(resource.metadata.url))?.description, damage: [.row: 1],
                ranges: [], isRepaired: false, problem: "its cover does not open; give it another, or take it away"))
    }

    private mutating func note(_ count: Int, of resource: StoredResource, _ problem: String) {
        let repairs = options.repairs
        report.note(.row, count, isMended: repairs)
        report.name(
            DamagedResource(
                id: resource.id.hex, url: (try? MediaURL(resource.metadata.url))?.description, damage: [.row: count],
                ranges: [], isRepaired: repairs, problem: repairs ? nil : problem))
    }

    /// Reports a resource that no key of the keyring opens. A repair removes it, unless it can be restored, or unless
    /// it was opened by a retired generation and the options keep such resources.
    private mutating func settle(unopened id: ResourceID) async throws {
        var problem: String?
        if let restoration = try await restoration(of: id, "its rows are damaged") {
            problem = restoration
        } else if !options.forgetsRetired, try await rows({ try $0.needsRetiredGeneration(id) }) {
            problem =
                "its key was wrapped by a generation that was destroyed since: this copy of the vault is older than its "
                + "keys; use the keyring of its time, remove it, or let a repair forget what was retired"
        } else if !options.repairs {
            problem = "no key opens its rows; a repair removes it"
        } else if loaders.removeIfIdle(id) {
            do {
                _ = try await blocking { try $0.resources.remove(id) }
            } catch let error as VaultError where error.code == .storage {
                problem = error.message
            }
        } else {
            problem = "no key opens its rows, but it is in use; repair again once nothing plays it"
        }
        report.note(.resource, isMended: problem == nil)
        report.name(
            DamagedResource(
                id: id.hex, url: nil, damage: [.resource: 1], ranges: [], isRepaired: problem == nil, problem: problem))
    }

    private mutating func check(
        _ representation: RepresentationID, of resource: StoredResource
    ) async throws -> RepresentationLedger {
        // When a part leaves a pack, its bytes stay in the pack's segments, but nothing reads them.
        var used: ByteRanges?
        if resource.metadata.isPack {
            let parts = try await blocking { try $0.index.packs.parts(of: resource).parts }
            used = ByteRanges(parts.map(\.range))
        }
        var ledger = RepresentationLedger(used: used)
        var last: StoredSegment.Place?
        var previous: SegmentDescription?
        while true {
            let after = last
            let page = try await rows {
                try $0.segments(of: representation, after: after, limit: Self.rowsPerPage)
            }
            // If that segment was replaced since, its replacement begins at the same byte and may be on this page.
            if let previous { _ = try await isStillThere(previous, &ledger) }
            previous = page.last?.description
            for row in page { try await check(row, of: resource, &ledger) }
            guard let end = page.last else { break }
            last = end.place
        }
        ledger.finish()
        return ledger
    }

    private mutating func check(
        _ row: StoredSegment, of resource: StoredResource, _ ledger: inout RepresentationLedger
    ) async throws {
        guard let segment = ledger.admit(row) else {
            return try await settleMismatch(row, .row, of: resource, &ledger)
        }
        guard segment.length > 0, try includesNext() else { return }
        report.segments += 1
        do {
            let (reader, size) = try await blocking { store in
                // A segment that was resealed since has another key than the resource that was read.
                let resource =
                    resource.keys[segment.keyNumber] == nil
                    ? try store.index.resources.find(resource.id) ?? resource : resource
                let reader = try store.segments.reader(of: segment, resource: resource)
                return (reader, try reader.fileSize())
            }
            let bad = try await badBlocks(of: segment, reader).subtracting(row.badBlocks)
            // A file that lost its end is correct once the lost blocks are recorded as bad.
            let isMisfit = !row.isOpen && (size > segment.fileSize || (size < segment.fileSize && !bad.isEmpty))
            guard !bad.isEmpty || isMisfit else { return }
            guard try await isStillThere(segment, &ledger) else { return }
            if isMisfit, try await settleSize(of: segment, isLonger: size > segment.fileSize, &ledger) { return }
            for block in bad.sorted() {
                ledger.note(.block, losing: segment.range(ofBlock: block))
                try await invalidate(segment.id, for: .badBlock(block), of: resource)
            }
        } catch SegmentFailure.unreadable {
            report.unreadable += 1
        } catch let failure as SegmentFailure {
            guard try await isStillThere(segment, &ledger) else { return }
            ledger.forget(segment)
            switch failure {
            case .missing:
                ledger.note(.missing, losingUnlessHeld: segment.range)
                try await invalidate(segment.id, for: failure, of: resource)
            case .wrongKey: try await settleMismatch(row, .key, of: resource, &ledger)
            default: try await settleMismatch(row, .header, of: resource, &ledger)
            }
        }
    }

    /// Returns whether a segment's row still exists. The owner may have removed the segment since the row was read.
    private func isStillThere(
        _ segment: SegmentDescription, _ ledger: inout RepresentationLedger
    ) async throws -> Bool {
        let isThere = try await rows { try $0.hasSegment(segment.id) }
        if !isThere { ledger.forget(segment) }
        return isThere
    }

    /// Handles a row that does not match its file. If the file alone is a complete segment, the row is wrong and is
    /// replaced; otherwise the segment is invalidated.
    private mutating func settleMismatch(
        _ row: StoredSegment, _ damageClass: DamageClass, of resource: StoredResource,
        _ ledger: inout RepresentationLedger
    ) async throws {
        guard options.repairs else { return ledger.note(damageClass, losingUnlessHeld: row.range) }
        switch try await recreateRow(row.id) {
        case true?: ledger.noteRepaired(damageClass)
        case false?:
            ledger.note(damageClass, losingUnlessHeld: row.range)
            try await invalidate(row.id, for: .foreign, of: resource)
        case nil:
            ledger.note(damageClass, losingUnlessHeld: nil)
            report.unreadable += 1
        }
    }

    /// Recreates a segment's row from its file.
    ///
    /// - Returns: false if the file is missing, is not a complete segment, or is not adopted now; nil if it cannot be
    ///   read.
    private mutating func recreateRow(_ id: SegmentID) async throws -> Bool? {
        do {
            guard let claimed = try await intactSegment(of: id) else { return false }
            return try await adopt(claimed)
        } catch SegmentFailure.missing {
            return false
        } catch is SegmentFailure {
            return nil
        } catch let error as VaultError where [.integrity, .storage].contains(error.code) {
            return nil
        }
    }

    /// Handles a file whose size differs from the size in its row.
    ///
    /// - Returns: whether the row was wrong and the file is complete, in which case none of its blocks is bad.
    private mutating func settleSize(
        of segment: SegmentDescription, isLonger: Bool, _ ledger: inout RepresentationLedger
    ) async throws -> Bool {
        // If a file is too short, either its row is wrong or blocks are lost. Lost blocks are found when they fail to
        // open.
        guard options.repairs, isLonger else {
            ledger.note(.size, losingUnlessHeld: nil)
            return false
        }
        let isWhole = try await recreateRow(segment.id) ?? false
        if !isWhole { try await blocking { try UnindexedFiles($0).cut(segment) } }
        ledger.noteRepaired(.size)
        return isWhole
    }

    private func invalidate(_ id: SegmentID, for failure: SegmentFailure, of resource: StoredResource) async throws {
        if options.repairs { try await invalidate(id, for: failure, of: resource.id) }
    }

    /// Checks for rows that belong to no resource. Nothing opens the segments and files that such rows name.
    mutating func checkStrandedRows() async throws {
        let parts = try await blocking { try $0.index.packs.strayCount() }
        if parts > 0 {
            if options.repairs { try await blocking { try $0.index.packs.dropStray() } }
            report.note(.row, parts, isMended: options.repairs)
        }
        var last: SegmentID?
        while true {
            let after = last
            let page = try await rows {
                try $0.segmentsWithoutResource(after: after, limit: Self.rowsPerPage)
            }
            guard let end = page.last else { break }
            last = end
            for id in page { try await settle(stranded: id) }
        }
        // The rows of representations are dropped last, because no segment may be left without one.
        let strays = try await rows { try $0.strayRowCount() }
        guard strays > 0 else { return }
        let dropped = options.repairs ? try await rows { try $0.dropStrayRows() } : 0
        report.note(.row, dropped, isMended: true)
        report.note(.row, strays - dropped, isMended: false)
    }

    private mutating func settle(stranded id: SegmentID) async throws {
        let isWhole = options.repairs ? try await recreateRow(id) : nil
        report.note(.row, isMended: isWhole != nil)
        if isWhole == false {
            try await blocking {
                try $0.segments.invalidate(id, size: SegmentRows($0.index).fileBytes(of: id), for: .foreign)
            }
        }
    }
}
