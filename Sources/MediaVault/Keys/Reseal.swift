import VaultCache
import VaultModel
import VaultStorage

/// Reseals resources, as ``KeyAdministration/reseal(_:bytesPerSecond:)`` describes.
struct ResealOperation: Sendable {
    let environment: KeyOperationEnvironment

    func run(
        _ references: [MediaReference], bytesPerSecond: Int64?, tell: @escaping (ResealProgress) -> Void
    ) async throws {
        try environment.store.requireOwner(to: "reseals titles")
        guard bytesPerSecond ?? 1 > 0 else {
            throw VaultError(.invalidArgument, "a rate must be at least one byte per second")
        }
        var resources: [ResourceID] = []
        // A running import seals under a key that is not in the index yet. A later import uses a newer key.
        let loaders = environment.loaders
        let imports = loaders.environment.imports
        if references.isEmpty { try await imports.ended() }
        for reference in references {
            let resource = try await loaders.name(reference)
            try await imports.ended(of: resource.id)
            try await loaders.requireOwnRows(of: resource)
            resources.append(resource.id)
        }
        let (named, wanted) = (resources, references.isEmpty ? nil : Set(resources))
        try await environment.lock.exclusively(.reseal) {
            let (store, log) = (environment.store, environment.log)
            let order = try await environment.pool.run {
                try SegmentReseal(store).order(of: wanted, bytesPerSecond: bytesPerSecond, noting: log)
            }
            let subjects = named.compactMap { log.subject(of: $0) }
            var resealer = Resealer(environment: environment, order: order, subjects: subjects, tell: tell)
            try await resealer.run()
        }
    }

    /// Continues an interrupted reseal, if there is one.
    func resume() async throws {
        let store = environment.store
        guard let order = try await environment.pool.run({ try store.index.settings().resealOrder }) else { return }
        try await environment.lock.yielding(.reseal) {
            var resealer = Resealer(environment: environment, order: order) { _ in }
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
