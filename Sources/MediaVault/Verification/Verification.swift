import VaultModel
import VaultStorage

/// A check of a whole vault.
///
/// It begins when it is iterated, and runs in parallel to all other use of the vault. The last element contains the
/// report. Leaving the loop, or cancelling its task, ends it; completed repairs are kept.
public struct Verification: AsyncSequence, Sendable {
    /// The progress, reported at most ten times a second.
    public typealias Element = VerifyProgress

    let loaders: LoaderTable
    /// Work that must end before the store closes.
    let tasks: BackgroundTasks
    let options: VerifyOptions

    /// Begins the check.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: VerifyProgress.self, bufferingPolicy: .bufferingNewest(1))
        let (loaders, options) = (loaders, options)
        let task = tasks.begin {
            do {
                try options.check(isOwner: loaders.environment.store.isOwner)
                var verifier = Verifier(loaders: loaders, options: options) { continuation.yield($0) }
                try await verifier.run()
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return Iterator(steps: stream.makeAsyncIterator(), task: task)
    }

    /// Delivers the progress.
    public struct Iterator: AsyncIteratorProtocol {
        var steps: AsyncThrowingStream<VerifyProgress, any Error>.Iterator
        let task: Task<Void, Never>

        /// Returns the current progress; nil after the report.
        ///
        /// - Throws: ``VaultError`` if the index cannot be read; `CancellationError` if the task was cancelled.
        public mutating func next() async throws -> VerifyProgress? {
            if let step = try await steps.next(isolation: #isolation) { return step }
            // After cancellation the stream ends before the work does; wait for it, so that nothing is changed after
            // returning.
            await task.value
            try Task.checkCancellation()
            return nil
        }
    }
}

/// The options of ``Vault/verify(_:)``.
public struct VerifyOptions: Hashable, Codable, Sendable {
    /// Whether to fetch damaged ranges again, and to adopt files that are not in the index or move them to quarantine.
    /// Only an owner can.
    public var repairs: Bool
    /// The percentage of segments to open, chosen at random; nil for all.
    public var sample: Double?
    /// The most bytes opened per second; nil for no limit.
    public var bytesPerSecond: Int64?

    /// By default opens everything, changes nothing, and has no rate limit.
    public init(repairs: Bool = false, sample: Double? = nil, bytesPerSecond: Int64? = nil) {
        self.repairs = repairs
        self.sample = sample
        self.bytesPerSecond = bytesPerSecond
    }

    /// - Throws: ``VaultError`` with code `invalidArgument` if an option is invalid.
    package func check(isOwner: Bool) throws {
        guard isOwner || !repairs else {
            throw VaultError(.invalidArgument, "a reader cannot repair; open the vault as its owner")
        }
        if let sample, !(sample > 0 && sample <= 100) {
            throw VaultError(.invalidArgument, "a sample must be more than 0 and at most 100 percent")
        }
        if let bytesPerSecond, bytesPerSecond <= 0 {
            throw VaultError(.invalidArgument, "a rate must be at least one byte per second")
        }
    }
}

/// The progress of a check.
public struct VerifyProgress: Hashable, Codable, Sendable {
    /// The number of plaintext bytes opened.
    public let bytesOpened: Int64
    /// The number of plaintext bytes to open, as known at the beginning.
    public let bytesTotal: Int64
    /// The number of segments checked.
    public let segments: Int
    /// The number of segments to check.
    public let segmentsTotal: Int
    /// The number of damages found so far.
    public let damage: Int
    /// The result; nil except in the last element.
    public let report: VerifyReport?
}

/// What ``Vault/verify(_:)`` found and repaired. It contains no secret: URLs are without their queries.
public struct VerifyReport: Hashable, Codable, Sendable {
    /// Files that are not in the index. They are not damage.
    public struct Orphans: Hashable, Codable, Sendable {
        /// Complete segments whose bytes are not held elsewhere: a repair adopts them.
        public internal(set) var good = 0
        /// All other files: a repair moves them to `quarantine/`.
        public internal(set) var strange = 0
        /// The number of good orphans that were adopted.
        public internal(set) var adopted = 0
        /// The number of strange orphans that were moved to `quarantine/`.
        public internal(set) var quarantined = 0
    }

    /// The number of plaintext bytes opened.
    public internal(set) var bytesOpened: Int64 = 0
    /// The number of segments checked.
    public internal(set) var segments = 0
    /// The number of damages by class; a class that was not found is absent.
    public internal(set) var damage: [DamageClass: Int] = [:]
    /// The number of damages that were not repaired.
    public internal(set) var remaining = 0
    /// Files that the operating system failed to read: nothing is known about their bytes.
    public internal(set) var unreadable = 0
    /// Files that are not in the index.
    public internal(set) var orphans = Orphans()
    /// The number of bytes fetched again to replace damaged ones.
    public internal(set) var bytesRefetched: Int64 = 0
    /// The damaged resources, at most ``maxNamed``.
    public internal(set) var resources: [DamagedResource] = []
    /// The number of damaged resources.
    public internal(set) var damagedResources = 0

    /// The most damaged resources that a report lists.
    public static let maxNamed = 1000

    /// The number of damages found.
    public var found: Int { damage.values.reduce(0, +) }
    /// Whether everything could be read, and no damage is left.
    public var isSound: Bool { remaining == 0 && unreadable == 0 }

    mutating func note(_ damageClass: DamageClass, _ count: Int = 1, isMended: Bool) {
        damage[damageClass, default: 0] += count
        if !isMended { remaining += count }
    }

    mutating func name(_ resource: DamagedResource) {
        damagedResources += 1
        if resources.count < Self.maxNamed { resources.append(resource) }
    }
}

/// The classes of damage that ``Vault/verify(_:)`` distinguishes.
public enum DamageClass: String, Hashable, CaseIterable, Codable, CodingKeyRepresentable, Sendable {
    /// The file of a segment is missing.
    case missing
    /// The file of a segment is longer or shorter than its row states.
    case size
    /// The header of a file is damaged, or belongs to another segment.
    case header
    /// The header is the segment's, but sealed under another key than its row states.
    case key
    /// A block fails authentication or is cut short; also a block that failed earlier and was not fetched again.
    case block
    /// A row of a segment is impossible, or names bytes that another segment holds.
    case row
    /// The rows of a resource fail authentication: nothing of it can be opened.
    case resource
    /// The vault's settings fail authentication.
    case settings
}

/// A resource with damage.
public struct DamagedResource: Hashable, Codable, Sendable {
    /// Its id in the vault, 64 hex digits.
    public let id: String
    /// Its URL without the query; nil if the rows that contain it do not open.
    public let url: String?
    /// The number of damages by class.
    public let damage: [DamageClass: Int]
    /// The ranges that could not be opened, in ascending order.
    public let ranges: [ByteRange]
    /// Whether all damage was repaired.
    public let isRepaired: Bool
    /// Why it was not repaired, and what to do; nil if it was, or if no repair was tried.
    public let problem: String?

    /// The number of bytes that could not be opened.
    public var bytes: Int64 { ranges.reduce(0) { $0 + $1.length } }
}
