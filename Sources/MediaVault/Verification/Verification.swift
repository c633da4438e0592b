import VaultModel
import VaultStorage

/// A check of a whole vault: begins when it is iterated, and goes on beside everything else that the vault does. The
/// last element carries the report.
///
/// Leaving the loop, or cancelling its task, ends it; what was repaired stays so.
public struct Verification: AsyncSequence, Sendable {
    /// How far it is, told ten times a second at most.
    public typealias Element = VerifyProgress

    let vault: Vault
    let options: VerifyOptions

    /// Begins the check.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: VerifyProgress.self, bufferingPolicy: .bufferingNewest(1))
        let (vault, options) = (vault, options)
        let task = vault.chores.begin {
            do {
                try options.check(isOwner: vault.store.isOwner)
                var verifier = Verifier(vault: vault, options: options) { continuation.yield($0) }
                try await verifier.run()
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return Iterator(steps: stream.makeAsyncIterator(), task: task)
    }

    /// Tells how far it is.
    public struct Iterator: AsyncIteratorProtocol {
        var steps: AsyncThrowingStream<VerifyProgress, any Error>.Iterator
        let task: Task<Void, Never>

        /// How far it is now; nil after the report.
        ///
        /// - Throws: ``VaultError`` where the index cannot be read; `CancellationError` where the task was cancelled.
        public mutating func next() async throws -> VerifyProgress? {
            if let step = try await steps.next(isolation: #isolation) { return step }
            // Cancelled, the stream ends before the work does; nothing is touched any more when this returns.
            await task.value
            try Task.checkCancellation()
            return nil
        }
    }
}

extension Vault {
    /// Opens every block of every segment that the index names, and looks for files that it does not name.
    ///
    /// It needs no ownership, unless it repairs: then what is damaged is condemned and its ranges alone are fetched
    /// anew, of the same representation; orphans are adopted or moved to `quarantine/`. Playing goes on meanwhile.
    public func verify(_ options: VerifyOptions = VerifyOptions()) -> Verification {
        Verification(vault: self, options: options)
    }
}

/// What ``Vault/verify(_:)`` does.
public struct VerifyOptions: Hashable, Codable, Sendable {
    /// Whether what is damaged is fetched anew, and files that no row names are taken in or moved to quarantine. Only
    /// an owner can.
    public var repairs: Bool
    /// How many of a hundred segments are opened, chosen by chance; nil is all of them.
    public var sample: Double?
    /// The most bytes opened in a second; nil is as fast as the disk is.
    public var bytesPerSecond: Int64?

    /// Opens everything, changes nothing, and does not wait, unless told otherwise.
    public init(repairs: Bool = false, sample: Double? = nil, bytesPerSecond: Int64? = nil) {
        self.repairs = repairs
        self.sample = sample
        self.bytesPerSecond = bytesPerSecond
    }

    /// - Throws: ``VaultError`` with code `invalidArgument` where they cannot be kept to.
    package func check(isOwner: Bool) throws {
        guard isOwner || !repairs else {
            throw VaultError(.invalidArgument, "a reader repairs nothing; open the vault as its owner")
        }
        if let sample, !(sample > 0 && sample <= 100) {
            throw VaultError(.invalidArgument, "a sample is more than 0 and at most 100 percent")
        }
        if let bytesPerSecond, bytesPerSecond <= 0 {
            throw VaultError(.invalidArgument, "a rate is at least one byte in a second")
        }
    }
}

/// How far a check is.
public struct VerifyProgress: Hashable, Codable, Sendable {
    /// Plaintext bytes that have been opened.
    public let bytesOpened: Int64
    /// Plaintext bytes that are to be opened in all, as far as was known at the beginning.
    public let bytesTotal: Int64
    /// Segments that have been looked at.
    public let segments: Int
    /// Segments that are to be looked at.
    public let segmentsTotal: Int
    /// Pieces of damage found so far.
    public let damage: Int
    /// What was found; in the last element alone.
    public let report: VerifyReport?
}

/// What ``Vault/verify(_:)`` found, and what became of it. It holds no secret: URLs stand in it without their queries.
public struct VerifyReport: Hashable, Codable, Sendable {
    /// Files that no row of the index names. They are no damage.
    public struct Orphans: Hashable, Codable, Sendable {
        /// Whole segments of bytes that are held nowhere else: repairing adopts them.
        public internal(set) var good = 0
        /// Everything else: repairing moves it to `quarantine/`.
        public internal(set) var strange = 0
        /// Those of the good that were adopted.
        public internal(set) var adopted = 0
        /// Those of the strange that were moved to `quarantine/`.
        public internal(set) var quarantined = 0
    }

    /// Plaintext bytes that were opened.
    public internal(set) var bytesOpened: Int64 = 0
    /// Segments that were looked at.
    public internal(set) var segments = 0
    /// How much damage of each kind there was; a kind that was not found is absent.
    public internal(set) var damage: [DamageClass: Int] = [:]
    /// Pieces of damage that are still there.
    public internal(set) var remaining = 0
    /// Files that the system would not read: nothing is known about their bytes.
    public internal(set) var unreadable = 0
    /// Files that no row names.
    public internal(set) var orphans = Orphans()
    /// Bytes fetched anew in place of damaged ones.
    public internal(set) var bytesRefetched: Int64 = 0
    /// The resources that were damaged: the first ``mostNamed`` of them.
    public internal(set) var resources: [DamagedResource] = []
    /// How many resources were damaged.
    public internal(set) var damagedResources = 0

    /// How many damaged resources a report names.
    public static let mostNamed = 1000

    /// Pieces of damage that were found.
    public var found: Int { damage.values.reduce(0, +) }
    /// Whether nothing is damaged, or nothing any more, and everything could be read.
    public var isSound: Bool { remaining == 0 && unreadable == 0 }

    mutating func note(_ damageClass: DamageClass, _ count: Int = 1, isMended: Bool) {
        damage[damageClass, default: 0] += count
        if !isMended { remaining += count }
    }

    mutating func name(_ resource: DamagedResource) {
        damagedResources += 1
        if resources.count < Self.mostNamed { resources.append(resource) }
    }
}

/// The kinds of damage that ``Vault/verify(_:)`` tells apart.
public enum DamageClass: String, Hashable, CaseIterable, Codable, CodingKeyRepresentable, Sendable {
    /// The file of a segment is not there.
    case missing
    /// The file of a segment is longer or shorter than its row says.
    case size
    /// The header of a file is damaged, or another segment's.
    case header
    /// The header is the segment's, but sealed under another key than its row says.
    case key
    /// A block fails its tag or is cut short; also one that failed earlier and was not fetched anew.
    case block
    /// A row of a segment says what cannot be, or names bytes that another one holds.
    case row
    /// The rows of a resource fail their tags: nothing of it can be opened.
    case resource
    /// The vault's settings fail their tag.
    case settings
}

/// A resource of which something was damaged.
public struct DamagedResource: Hashable, Codable, Sendable {
    /// Its id in the vault, 64 hex digits.
    public let id: String
    /// Its URL without the query; nil where the rows that hold it do not open.
    public let url: String?
    /// How much damage of each kind it had.
    public let damage: [DamageClass: Int]
    /// The ranges that could not be opened, in ascending order.
    public let ranges: [ByteRange]
    /// Whether all of it was mended.
    public let isRepaired: Bool
    /// Why it was not, and what to do; nil where it was, or was not tried.
    public let problem: String?

    /// The bytes that could not be opened.
    public var bytes: Int64 { ranges.reduce(0) { $0 + $1.length } }
}
