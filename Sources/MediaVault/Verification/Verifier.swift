import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

/// Runs one check of a vault, from beginning to end.
///
/// Rows are read page by page and blocks are opened chunk by chunk, each on the blocking pool, so that other work can
/// run in between. If the owner removes a segment after its row was read, the row is looked up again, and the missing
/// file does not count as damage.
struct Verifier {
    let loaders: LoaderTable
    let options: VerifyOptions
    private let tell: (VerifyProgress) -> Void

    var report = VerifyReport()
    /// The origins that were unreachable in this run. They are not contacted again.
    var unreachable: Set<String> = []
    private var pace: VerifyPace?
    private var sample: SegmentSample?
    private var bytesTotal: Int64 = 0
    private var segmentsTotal = 0
    private var lastReport: ContinuousClock.Instant?
    /// Whether any resource lacks the row of its serving representation; nil until this has been looked up.
    private var hasGaps: Bool?

    /// The number of rows that are read at a time.
    static let rowsPerPage = 256
    /// The number of plaintext bytes that are opened at a time, which takes one thread a few hundred microseconds.
    private static let chunkBytes = 512 << 10
    /// The minimum time between two progress reports.
    private static let interval: Duration = .milliseconds(100)

    init(loaders: LoaderTable, options: VerifyOptions, tell: @escaping (VerifyProgress) -> Void) {
        self.loaders = loaders
        self.options = options
        self.tell = tell
        pace = options.bytesPerSecond.map { VerifyPace(bytesPerSecond: $0) }
    }

    /// Runs the check. The last progress that it reports contains the report.
    ///
    /// - Parameter references: the resources to check, where a title includes all its parts; empty to check everything,
    ///   including files that are not in the index.
    mutating func run(_ references: [MediaReference] = []) async throws {
        // A tampered schema could return other rows than those that are to be checked.
        try await blocking { try $0.index.requireOwnSchema() }
        guard references.isEmpty else { return try await checkOnly(references) }
        if options.repairs {
            try await restore()
            // Files that were quarantined before their rows were restored are taken back, and checked again with the
            // others.
            _ = try await blocking { try UnindexedFiles($0).takeBackQuarantined() }
        }
        try await count()
        progress()
        // Check files first, because the bytes of adopted files need not be fetched.
        for byte in UInt8.min...UInt8.max { try await checkFiles(in: byte) }
        try await checkSettings()
        try await checkRecords()
        try await checkResources()
        try await checkStrandedRows()
        try await recount()
        if options.opensAll {
            let isSound = report.isSound
            try await blocking { $0.noteVerification(isSound: isSound) }
        }
        tell(step(report))
    }

    private mutating func checkOnly(_ references: [MediaReference]) async throws {
        if options.repairs { try await restore() }
        var ids: [ResourceID] = []
        for reference in references {
            let resource = try await loaders.name(reference)
            guard try await blocking({ try $0.index.resources.has(resource.id) }) else { throw reference.notHeld }
            ids.append(resource.id)
            ids += try await TitleParts(loaders: loaders).parts(of: resource).map(\.id)
        }
        let titles = ids
        begin(try await blocking { try $0.index.resources.totals(of: titles) })
        progress()
        for id in ids { try await check(id) }
        // Repaired resources may belong to other titles, too.
        let concerned = try await blocking { store in
            Set(try titles.flatMap { try store.index.titles.named(for: $0) }).union(titles)
        }
        try await recount(Array(concerned))
        tell(step(report))
    }

    /// Records which titles are complete again after a repair.
    ///
    /// - Parameter titles: the titles to count again; nil for all titles.
    private func recount(_ titles: [ResourceID]? = nil) async throws {
        guard options.repairs else { return }
        // If rows were deleted, it is unknown to which titles they belonged.
        let isDoubtful = report.damage[.row] != nil || report.damage[.resource] != nil
        try await blocking { store in
            try store.index.completeness.recount(titles, doubting: isDoubtful)
            store.changes.noteAll()
        }
    }

    private mutating func count() async throws {
        let totals = try await blocking { try $0.index.resources.totals() }
        begin((totals.bytes, totals.segments))
    }

    private mutating func begin(_ totals: (bytes: Int64, segments: Int)) {
        (bytesTotal, segmentsTotal) = totals
        guard let percent = options.sample else { return }
        let sample = SegmentSample(percent: percent, of: totals.segments)
        self.sample = sample
        segmentsTotal = sample.wanted
        bytesTotal = Int64(Double(totals.bytes) * percent / 100)
    }

    // MARK: Work

    var store: VaultStore { loaders.environment.store }
    var pool: BlockingPool { loaders.environment.pool }

    /// Runs a call on the blocking pool, unless the task has been cancelled.
    func blocking<Result: Sendable>(
        _ call: @escaping @Sendable (VaultStore) throws -> Result
    ) async throws -> Result {
        try Task.checkCancellation()
        let store = store
        return try await pool.run { try call(store) }
    }

    func rows<Result: Sendable>(
        _ call: @escaping @Sendable (VerificationRows) throws -> Result
    ) async throws -> Result { try await blocking { try call(VerificationRows($0.index)) } }

    /// Returns whether the next segment is to be opened.
    mutating func includesNext() throws -> Bool {
        try sample?.includesNext { try SecureRandom.number(below: $0) } ?? true
    }

    /// Opens all blocks of a segment, and returns those that fail.
    mutating func badBlocks(of segment: SegmentDescription, _ reader: SegmentReader) async throws -> Set<Int> {
        let step = max(1, Self.chunkBytes / segment.blockSize)
        var bad: Set<Int> = []
        for first in stride(from: 0, to: segment.blockCount, by: step) {
            let blocks = first..<min(first + step, segment.blockCount)
            bad.formUnion(try await blocking { _ in try reader.badBlocks(in: blocks, of: segment) })
            let bytes =
                segment.range(ofBlock: blocks.upperBound - 1).upperBound - segment.range(ofBlock: first).lowerBound
            report.bytesOpened += bytes
            progress()
            if let delay = pace?.delay(after: bytes, now: .now) { try await Task.sleep(for: delay) }
        }
        return bad
    }

    // MARK: Progress

    private mutating func progress() {
        let now = ContinuousClock.now
        if let lastReport, now - lastReport < Self.interval { return }
        lastReport = now
        tell(step(nil))
    }

    private func step(_ report: VerifyReport?) -> VerifyProgress {
        VerifyProgress(
            bytesOpened: self.report.bytesOpened, bytesTotal: max(bytesTotal, self.report.bytesOpened),
            segments: self.report.segments, segmentsTotal: max(segmentsTotal, self.report.segments),
            damage: self.report.found, report: report)
    }
}

// Checks the files, and from there the index.
extension Verifier {
    /// Checks the files that are not in the index and whose names begin with this byte.
    mutating func checkFiles(in byte: UInt8) async throws {
        let files = try await blocking { try UnindexedFiles($0).names(in: byte) }
        for id in files.segments { try await check(orphan: id, in: byte) }
        for name in files.others { try await putAside(name, in: byte) }
    }

    private mutating func check(orphan id: SegmentID, in byte: UInt8) async throws {
        do {
            guard let claimed = try await intactSegment(of: id) else {
                // The file stays in place, because a rebuilt index may include it again.
                if try await lacksServingRows() { return report.orphans.strange += 1 }
                return try await putAside(id.hex, in: byte)
            }
            report.orphans.good += 1
            guard options.repairs, try await adopt(claimed) else { return }
            report.orphans.adopted += 1
        } catch SegmentFailure.missing {
            // The segment has just been removed.
            return
        } catch SegmentFailure.unreadable {
            report.unreadable += 1
        } catch let error as VaultError where error.code == .integrity {
            // The rows of the file's resource do not open. Nothing is known about the file, so it stays in place.
            return
        } catch let error as VaultError where error.code == .storage {
            // The segment could not be made durable, so it was not adopted.
            report.unreadable += 1
        }
    }

    /// Returns the segment in a file if the file is a complete segment by its own header, and no other segment holds
    /// its bytes; otherwise nil.
    mutating func intactSegment(of id: SegmentID) async throws -> ClaimedSegment? {
        guard let claimed = try await blocking({ try UnindexedFiles($0).claim(of: id) }), claimed.fits,
            try await badBlocks(of: claimed.segment, claimed.reader).isEmpty,
            try await rows({ try $0.isGap(claimed.segment) })
        else { return nil }
        return claimed
    }

    /// Returns whether any resource lacks the row of its serving representation. This is looked up only once.
    private mutating func lacksServingRows() async throws -> Bool {
        if let hasGaps { return hasGaps }
        let found = try await rows { try $0.lacksServingRows() }
        hasGaps = found
        return found
    }

    private mutating func putAside(_ name: String, in byte: UInt8) async throws {
        report.orphans.strange += 1
        guard options.repairs else { return }
        do {
            try await blocking { try UnindexedFiles($0).putAside(name, in: byte) }
            report.orphans.quarantined += 1
        } catch let error as VaultError where error.code == .storage {
            // The file stays in place, which is harmless.
            return
        }
    }
}

extension Verifier {
    /// Adds the findings about a representation to the report. If repairs are requested, it fetches missing ranges
    /// first.
    mutating func settle(
        _ ledger: RepresentationLedger, of representation: RepresentationID, _ resource: StoredResource
    ) async throws {
        let gaps = ledger.gaps
        let problem = try await options.repairs ? mend(gaps, of: representation, resource) : nil
        let isMended = options.repairs && problem == nil
        for (damageClass, count) in ledger.mended { report.note(damageClass, count, isMended: true) }
        for (damageClass, count) in ledger.pending { report.note(damageClass, count, isMended: isMended) }
        loaders.environment.damage.note(resource.id)
        report.name(
            DamagedResource(
                id: resource.id.hex, url: Self.name(of: resource),
                damage: ledger.mended.merging(ledger.pending, uniquingKeysWith: +), ranges: Array(gaps.ranges),
                isRepaired: isMended || (options.repairs && ledger.pending.isEmpty), problem: problem))
    }

    /// Returns a resource's URL without its query, which may contain a token.
    private static func name(of resource: StoredResource) -> String? {
        (try? MediaURL(resource.metadata.url))?.description
    }

    /// Fetches ranges again. Returns why this failed, or nil if it succeeded.
    private mutating func mend(
        _ gaps: ByteRanges, of representation: RepresentationID, _ resource: StoredResource
    ) async throws -> String? {
        // A representation that is no longer served has no readers, so its gaps need no repair.
        guard !gaps.isEmpty, representation == resource.serving?.id else { return nil }
        guard !resource.metadata.isPack else { return try await mend(gaps, ofPack: resource) }
        do {
            let authority = try MediaURL(resource.metadata.url).authority
            guard !unreachable.contains(authority) else {
                return "\(authority) is unreachable; repair again once it answers"
            }
            do {
                report.bytesRefetched += try await mend(gaps, of: representation, resource)
                return nil
            } catch let error as VaultError where error.code == .unreachable {
                unreachable.insert(authority)
                throw error
            }
        } catch let error as VaultError {
            try Task.checkCancellation()
            return error.message
        }
    }

    /// Fetches the damaged parts in a pack again, each from its own URL, or copies them from another title's pack.
    /// Bytes that belong to no part are not fetched.
    private mutating func mend(_ gaps: ByteRanges, ofPack pack: StoredResource) async throws -> String? {
        var problem: String?
        for part in try await blocking({ try $0.index.packs.parts(of: pack).parts }) {
            let lost = gaps.overlaps(with: part.range).map { run in
                run.lowerBound - part.range.lowerBound..<run.upperBound - part.range.lowerBound
            }
            guard !lost.isEmpty, let resource = try await blocking({ try $0.index.resources.find(part.id) }),
                let place = resource.place, let version = resource.serving?.id
            else { continue }
            let failure: String? =
                place.pack == pack.id
                ? try await mend(ByteRanges(lost), of: version, resource)
                : try await copy(lost, of: part, from: resource, to: pack)
            problem = problem ?? failure
        }
        return problem
    }

    /// Copies the damaged ranges of a part from another title's pack. Returns why this failed, or nil if it succeeded.
    private func copy(
        _ lost: [ByteRange], of part: PackedPart, from other: StoredResource, to pack: StoredResource
    ) async throws -> String? {
        let (own, theirs) = (part.info.information, other.serving?.info.information)
        guard own.validators.canVerify, own.validators == theirs?.validators, own.length == theirs?.length else {
            return "another title has another version of a damaged part; fetch the title again"
        }
        do {
            for range in lost { try await copy(range, of: part, to: pack) }
            return nil
        } catch let error as VaultError {
            try Task.checkCancellation()
            return error.message
        }
    }
}
