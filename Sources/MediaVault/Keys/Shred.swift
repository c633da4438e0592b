import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

/// Shreds resources, as ``KeyAdministration/shred(_:quick:)`` describes.
struct ShredOperation: Sendable {
    let environment: KeyOperationEnvironment

    func run(_ references: [MediaReference], isQuick: Bool) async throws -> ShredReport {
        try environment.store.requireOwner(to: "shreds titles")
        return try await environment.lock.exclusively(.shred) {
            var titles: [ShreddedTitle] = []
            let store = environment.store
            // Someone who can change the files could have unlinked a part from its title to save the part from the
            // shred.
            try await environment.pool.run { try store.index.titles.linkParts() }
            for reference in references { titles.append(try await shredOne(reference, isQuick: isQuick)) }
            let kept = try await finish()
            // If no title was removed, the generation was not replaced either.
            let isDestroyed = !isQuick && kept.isEmpty && titles.contains { $0.error == nil }
            return ShredReport(
                titles: titles, outcome: isDestroyed ? .destroyed : .removed,
                generation: store.keyring.currentGeneration)
        }
    }

    private func shredOne(_ reference: MediaReference, isQuick: Bool) async throws -> ShreddedTitle {
        do {
            let (log, resource) = (environment.log, try await environment.loaders.name(reference))
            let subject = log.subject(of: resource.id)
            // The resource leaves the queue first, so that the queue does not fetch it again.
            try await environment.downloads.forget(resource)
            let bytes = try await environment.loaders.remove(resource, byOwner: true) { store, id in
                try Shreds(store).shred(id, isQuick: isQuick, noting: log)
            }
            return ShreddedTitle(url: "\(reference.url)", bytes: bytes, subject: subject, error: nil)
        } catch let error as VaultError where [.notHeld, .removed, .invalidURL, .invalidArgument].contains(error.code) {
            return ShreddedTitle(url: "\(reference.url)", bytes: nil, subject: nil, error: error)
        }
    }

    /// Finishes pending shreds. The caller must hold the key operation lock.
    ///
    /// - Returns: the generations that could not be destroyed, because a key that they wrap does not open.
    func finish() async throws -> [Int] {
        let (store, log) = (environment.store, environment.log)
        return try await environment.pool.run { try Shreds(store).finish(noting: log) }
    }
}

/// The outcome of a shred for one resource.
public struct ShreddedTitle: Hashable, Sendable {
    /// The resource's URL, without credentials.
    public let url: String
    /// The size of the resource's removed files in bytes; nil if the resource was not shredded.
    public let bytes: Int64?
    /// The resource's name in the receipt, ``Receipt/subject``; nil if the resource was not shredded.
    public let subject: String?
    /// Why the resource was not shredded; nil if it was.
    public let error: VaultError?
}

/// The result of a shred.
public struct ShredReport: Hashable, Sendable {
    /// The outcomes for the requested resources, in the order of the request.
    public let titles: [ShreddedTitle]
    /// The outcome stated in the receipts: ``Receipt/Outcome/destroyed`` if the keyring can no longer open any
    /// remaining wrapped key, or ``Receipt/Outcome/removed`` if the generation that wrapped the keys still exists.
    public let outcome: Receipt.Outcome
    /// The current generation.
    public let generation: Int
}
