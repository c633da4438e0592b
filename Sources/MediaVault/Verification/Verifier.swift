import VaultCrypto
import VaultModel
import VaultStorage

/// One check of a vault, from beginning to end.
///
/// Rows are read a page at a time and blocks opened a chunk at a time, each on the blocking pool, so that others have
/// their turn between. What was taken away by an owner between the row and its file is looked up once more, and is no
/// damage.
struct Verifier {
    let vault: Vault
    let options: VerifyOptions
    private let tell: (VerifyProgress) -> Void

    var report = VerifyReport()
    /// Origins that gave no answer in this run: they are not asked again.
    var unreachable: Set<String> = []
    private var pace: VerifyPace?
    private var sample: SegmentSample?
    private var bytesTotal: Int64 = 0
    private var segmentsTotal = 0
    private var lastTold: ContinuousClock.Instant?

    /// Rows read at a time.
    static let pageRows = 256
    /// Plaintext bytes opened at a time: a few hundred microseconds of one thread.
    private static let chunkBytes = 512 << 10
    /// How often progress is told.
    private static let interval: Duration = .milliseconds(100)

    init(vault: Vault, options: VerifyOptions, tell: @escaping (VerifyProgress) -> Void) {
        self.vault = vault
        self.options = options
        self.tell = tell
        pace = options.bytesPerSecond.map { VerifyPace(bytesPerSecond: $0) }
    }

    /// Runs the check; the last step that is told carries the report.
    mutating func run() async throws {
        // A foreign schema would answer in the place of what is checked.
        try await blocking { try $0.index.requireOwnSchema() }
        try await count()
        progress()
        // Files first: what is adopted need not be fetched.
        for byte in UInt8.min...UInt8.max { try await checkFiles(in: byte) }
        try await checkSettings()
        try await checkResources()
        try await checkStrandedRows()
        tell(step(report))
    }

    private mutating func count() async throws {
        let totals = try await blocking { try $0.index.totals() }
        (bytesTotal, segmentsTotal) = (totals.bytes, totals.segments)
        guard let percent = options.sample else { return }
        let sample = SegmentSample(percent: percent, of: totals.segments)
        self.sample = sample
        segmentsTotal = sample.wanted
        bytesTotal = Int64(Double(totals.bytes) * percent / 100)
    }

    // MARK: Work

    /// Runs a call on the blocking pool.
    func blocking<Result: Sendable>(
        _ call: @escaping @Sendable (VaultStore) throws -> Result
    ) async throws -> Result {
        try Task.checkCancellation()
        let store = vault.store
        return try await vault.pool.run { try call(store) }
    }

    /// Whether the next segment is one that is opened.
    mutating func takesNext() throws -> Bool {
        try sample?.takesNext { try Fresh.number(below: $0) } ?? true
    }

    /// Opens all blocks of a segment, and gives those that fail.
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

    // MARK: Telling

    private mutating func progress() {
        let now = ContinuousClock.now
        if let lastTold, now - lastTold < Self.interval { return }
        lastTold = now
        tell(step(nil))
    }

    private func step(_ report: VerifyReport?) -> VerifyProgress {
        VerifyProgress(
            bytesOpened: self.report.bytesOpened, bytesTotal: max(bytesTotal, self.report.bytesOpened),
            segments: self.report.segments, segmentsTotal: max(segmentsTotal, self.report.segments),
            damage: self.report.found, report: report)
    }
}
