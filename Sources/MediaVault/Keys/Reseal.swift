import VaultCache
import VaultModel
import VaultStorage

extension KeyAdministration {
    /// Reseals resources under new keys, in case a resource key has leaked. Titles are resealed with all their parts.
    ///
    /// The resources most at risk are resealed first: those of an interrupted reseal, and then those under the oldest
    /// generation. Among these, the most recently read go first, because their keys were in memory last. A reseal needs
    /// free space for one segment. Playback continues. A reseal begins only after running imports have ended.
    ///
    /// Resealing does not help against attackers who have a copy of the old segments and their key. Nor does it help
    /// while attackers know the keyring that wraps the new keys, so rotate, rewrap and retire first.
    ///
    /// - Parameters:
    ///   - references: the resources to reseal; if empty, everything that the vault holds.
    ///   - bytesPerSecond: the maximum number of plaintext bytes per second; nil for no limit.
    /// - Returns: the progress, reported at most ten times a second; the last element contains the report. Leaving the
    ///   sequence interrupts the reseal. Resealed segments then stay resealed, and the vault records what is left, and
    ///   continues when it is opened again or when a reseal is requested again. Iterating throws ``VaultError``:
    ///   `owned` if this process is not the owner, `busy` if another key operation is running, `notHeld` if the vault
    ///   does not know a resource, `diskFull`, `storage`.
    public func reseal(
        _ references: [MediaReference] = [], bytesPerSecond: Int64? = nil
    ) -> ProgressSequence<ResealProgress> {
        ProgressSequence(among: tasks) { [self] tell in
            try await reseal(references, bytesPerSecond: bytesPerSecond, tell: tell)
        }
    }

    func reseal(
        _ references: [MediaReference], bytesPerSecond: Int64?, tell: @escaping (ResealProgress) -> Void
    ) async throws {
        try store.requireOwner(to: "reseals titles")
        guard bytesPerSecond ?? 1 > 0 else {
            throw VaultError(.invalidArgument, "a rate must be at least one byte per second")
        }
        var resources: [ResourceID] = []
        // A running import seals under a key that is not in the index yet. A later import uses a newer key.
        let imports = loaders.environment.imports
        if references.isEmpty { try await imports.ended() }
        for reference in references {
            let resource = try await loaders.name(reference)
            try await imports.ended(of: resource.id)
            try await loaders.requireOwnRows(of: resource)
            resources.append(resource.id)
        }
        let (named, wanted) = (resources, references.isEmpty ? nil : Set(resources))
        try await lock.exclusively(.reseal) {
            let (store, log) = (store, log)
            let order = try await pool.run {
                try SegmentReseal(store).order(of: wanted, bytesPerSecond: bytesPerSecond, noting: log)
            }
            let subjects = named.compactMap { log.subject(of: $0) }
            var resealer = Resealer(keys: self, order: order, subjects: subjects, tell: tell)
            try await resealer.run()
        }
    }

    /// Continues an interrupted reseal, if there is one.
    func resumeReseal() async throws {
        let store = store
        guard let order = try await pool.run({ try store.index.settings().resealOrder }) else { return }
        try await lock.yielding(.reseal) {
            var resealer = Resealer(keys: self, order: order) { _ in }
            try await resealer.run()
        }
    }
}

/// The progress of a reseal.
public struct ResealProgress: Hashable, Codable, Sendable {
    /// The number of plaintext bytes resealed so far.
    public let bytes: Int64
    /// The number of plaintext bytes to reseal, as counted at the beginning.
    public let bytesTotal: Int64
    /// The number of resources that are finished.
    public let resources: Int
    /// The number of resources to reseal.
    public let resourcesTotal: Int
    /// The result; nil except in the last element. Not part of the JSON.
    public internal(set) var report: ResealReport?

    private enum CodingKeys: CodingKey { case bytes, bytesTotal, resources, resourcesTotal }
}

/// The result of a reseal.
public struct ResealReport: Hashable, Codable, Sendable {
    /// The number of resources that have a new key, and nothing sealed under an older one.
    public internal(set) var resources = 0
    /// The number of segments that were resealed.
    public internal(set) var segments = 0
    /// The number of plaintext bytes in these segments.
    public internal(set) var bytes: Int64 = 0
    /// The number of damaged segments found. The damaged part of each becomes a gap.
    public internal(set) var damage = 0
    /// The number of resources that keep an older key, because their rows or a file cannot be read.
    public internal(set) var problems = 0

    /// The names that receipts use for the requested resources (``Receipt/subject``), in the order of the request;
    /// empty if all resources were to be resealed.
    public let subjects: [String]

    /// Creates a report with all counts at zero.
    init(subjects: [String]) { self.subjects = subjects }
}
