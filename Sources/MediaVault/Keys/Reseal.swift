import VaultModel
import VaultStorage

/// New keys for resources, and all their segments sealed anew: begins when it is iterated, and goes on beside everything
/// else that the vault does. The last element carries the report.
///
/// Leaving the loop, or cancelling its task, breaks it off; what was sealed anew stays so. The vault remembers what is
/// left, and goes on with it when it is opened again, or asked again.
public struct Reseal: AsyncSequence, Sendable {
    /// How far it is, told ten times a second at most.
    public typealias Element = ResealProgress

    let vault: Vault
    let references: [MediaReference]
    let bytesPerSecond: Int64?

    /// Begins it.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: ResealProgress.self, bufferingPolicy: .bufferingNewest(1))
        let (vault, references, rate) = (vault, references, bytesPerSecond)
        let task = vault.chores.begin {
            do {
                try await vault.reseal(references, bytesPerSecond: rate) { continuation.yield($0) }
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
        var steps: AsyncThrowingStream<ResealProgress, any Error>.Iterator
        let task: Task<Void, Never>

        /// How far it is now; nil after the report.
        ///
        /// - Throws: ``VaultError``: `owned` where this is not the owner, `busy` where another act works on the keys,
        ///   `notHeld` where the vault knows nothing of a resource, `diskFull`, `storage`; `CancellationError` where
        ///   the task was cancelled.
        public mutating func next() async throws -> ResealProgress? {
            if let step = try await steps.next(isolation: #isolation) { return step }
            // Cancelled, the stream ends before the work does; nothing is touched any more when this returns.
            await task.value
            try Task.checkCancellation()
            return nil
        }
    }
}

extension Vault {
    /// Gives resources new keys, and seals every segment of them anew: for when a resource key may have leaked.
    ///
    /// Those go first whose risk is newest: what was begun and broken off; then what the oldest generation wraps; of
    /// those what was read last, because its key was in memory last. It needs room for one segment. Playing goes on.
    ///
    /// It does not help against somebody who has a copy of the old segments and their key, and not while the keyring
    /// that wraps the new keys is known: rotate, rewrap and retire first.
    ///
    /// - Parameters:
    ///   - references: what is sealed anew; all that the vault holds where there is none.
    ///   - bytesPerSecond: the most plaintext bytes in a second; nil is as fast as it goes.
    public func reseal(_ references: [MediaReference] = [], bytesPerSecond: Int64? = nil) -> Reseal {
        Reseal(vault: self, references: references, bytesPerSecond: bytesPerSecond)
    }

    func reseal(
        _ references: [MediaReference], bytesPerSecond: Int64?, tell: @escaping (ResealProgress) -> Void
    ) async throws {
        try requireOwner(to: "seals it anew")
        guard bytesPerSecond ?? 1 > 0 else {
            throw VaultError(.invalidArgument, "a rate is at least one byte in a second")
        }
        var resources: [ResourceID] = []
        for reference in references {
            let (store, id) = (store, try await name(reference).id)
            guard try await pool.run({ try store.index.hasResource(id) }) else { throw Self.unknown(reference) }
            resources.append(id)
        }
        let (named, wanted) = (resources, references.isEmpty ? nil : Set(resources))
        try await keyWork.exclusively(.reseal) {
            let (store, log) = (store, auditLog)
            let order = try await pool.run {
                try store.orderReseal(of: wanted, bytesPerSecond: bytesPerSecond, noting: log)
            }
            let subjects = named.compactMap { log.subject(of: $0) }
            var resealer = Resealer(vault: self, order: order, subjects: subjects, tell: tell)
            try await resealer.run()
        }
    }

    /// Goes on with a reseal that was broken off; nothing happens where there is none.
    func resumeReseal() async throws {
        let store = store
        guard let order = try await pool.run({ try store.index.settings().resealOrder }) else { return }
        try await keyWork.yielding(.reseal) {
            var resealer = Resealer(vault: self, order: order) { _ in }
            try await resealer.run()
        }
    }
}

/// How far a reseal is.
public struct ResealProgress: Hashable, Codable, Sendable {
    /// Plaintext bytes that were sealed anew.
    public let bytes: Int64
    /// Plaintext bytes that are to be sealed anew in all, as far as was known at the beginning.
    public let bytesTotal: Int64
    /// Resources that are done.
    public let resources: Int
    /// Resources that are to be done.
    public let resourcesTotal: Int
    /// What it came to; in the last element alone.
    public let report: ResealReport?
}

/// What a reseal came to.
public struct ResealReport: Hashable, Codable, Sendable {
    /// Resources that have a new key, and nothing sealed under an older one.
    public internal(set) var resources = 0
    /// Segments that were sealed anew.
    public internal(set) var segments = 0
    /// Plaintext bytes in them.
    public internal(set) var bytes: Int64 = 0
    /// Pieces of damage that were found: their ranges are gaps from now on.
    public internal(set) var damage = 0
    /// Resources that keep an older key, because their rows or a file cannot be read.
    public internal(set) var problems = 0

    /// What receipts call the resources that were named (``Receipt/subject``), in that order; none where all were meant.
    public let subjects: [String]

    /// Nothing yet.
    init(subjects: [String]) { self.subjects = subjects }
}
