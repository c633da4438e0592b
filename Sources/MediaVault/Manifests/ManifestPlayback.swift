import Synchronization
import VaultCache
import VaultCrypto
import VaultManifest
import VaultModel
import VaultStorage

/// Serves a vault's manifests to players in a form that makes players request everything named in them through the
/// vault.
final class ManifestPlayback: Sendable {
    let limits: ManifestLimits
    private let loaders: LoaderTable
    private let played = Locked(PlayedManifests())
    private let versions = Atomic(0)
    var partOwners: PartOwners { loaders.environment.partOwners }

    init(_ loaders: LoaderTable, limits: ManifestLimits = .standard) {
        self.loaders = loaders
        self.limits = limits
    }

    /// Returns whether a resource is known to be a manifest, without asking its origin.
    func isManifest(_ resource: NamedResource) -> Bool {
        if played.withLock({ $0.contains(resource.id) }) { return true }
        let type = loaders.loader(of: resource.id)?.information?.type
        return ManifestDetection.kind(type: type, path: resource.reference.url.path) != nil
    }

    /// Returns whether the first bytes of a resource have been seen to be media.
    func isMedia(_ resource: NamedResource) -> Bool {
        loaders.loader(of: resource.id).map { $0.hasSeenMedia } ?? false
    }

    /// Examines the beginning of a resource, unless that has been done, so that its other parts are served according to
    /// their kind.
    ///
    /// If the beginning is not held, it is requested only if neither the type nor the path says that the resource is
    /// media, or if too few of its bytes have been seen.
    ///
    /// - Parameters:
    ///   - resource: the resource.
    ///   - isBegun: whether some of its first bytes have been seen, but too few to decide.
    ///   - read: opens a range of the resource.
    /// - Returns: whether the origin was asked for the bytes.
    /// - Throws: `CancellationError`.
    func examine(
        _ resource: NamedResource, isBegun: Bool = false,
        read: @Sendable (RequestedRange) async throws -> MediaReader
    ) async throws -> Bool {
        var hasAsked = false
        do {
            let (loader, lease) = try loaders.use(resource)
            defer { withExtendedLifetime(lease) {} }
            try await loader.ready()
            guard !loader.hasSeenMedia, !isManifest(resource), isBegun || isWorthExamining(resource, loader)
            else { return false }
            // If the beginning is held, read as little as possible, because most resources are media and this should
            // not fetch any more of them.
            var count = showsBeginning(loader) ? ManifestContent.minBytes : MediaReader.chunkBytes
            while true {
                let reader = try await read(.closed(first: 0, last: Int64(count - 1)))
                defer { reader.cancel() }
                hasAsked = hasAsked || reader.source != .held
                guard let start = try await reader.start() else { return hasAsked }
                let needed = ManifestContent.bytesNeeded(after: start)
                guard start.count >= count, needed > count else {
                    note(start, of: reader, resource)
                    return hasAsked
                }
                count = needed
            }
        } catch is VaultError {
            // A request for the bytes themselves will report why they are missing.
            return hasAsked
        }
    }

    private func isWorthExamining(_ resource: NamedResource, _ loader: ResourceLoader) -> Bool {
        if showsBeginning(loader) { return true }
        let status = loader.status
        let isShort = status.information?.length.map { $0 <= Int64(limits.maxBytes) } ?? true
        return isShort && status.mode.allowsRequests
            && !ManifestDetection.isMedia(type: status.information?.type, path: resource.reference.url.path)
    }

    /// Returns whether enough of the beginning is present to identify the content.
    private func showsBeginning(_ loader: ResourceLoader) -> Bool {
        let beginning = loader.beginning
        guard beginning > 0 else { return false }
        return beginning >= ManifestContent.minBytes || beginning == loader.information?.length
    }

    /// Records whether the first bytes of a resource begin a manifest or media.
    ///
    /// - Parameters:
    ///   - start: all the first bytes that the reader returned.
    ///   - reader: the reader that returned them.
    ///   - resource: the resource.
    func note(_ start: [UInt8], of reader: MediaReader, _ resource: NamedResource) {
        let loader = reader.loader
        if ManifestContent.kind(of: start) != nil {
            played.withLock { played in
                _ = played.lock(of: resource.id, owner: loader)
                played.note(resource.id)
            }
        } else if start.count >= ManifestContent.bytesNeeded(after: start)
            || reader.information.length.map({ start.count >= $0 }) ?? false
        {
            reader.noteMedia()
        }
    }

    /// Reads a whole manifest and rewrites it for a link; returns nil if the resource is not a manifest.
    ///
    /// - Parameters:
    ///   - resource: the resource.
    ///   - title: the URL of the title that a viewer plays, which may have named this manifest; nil if the links need
    ///     not conceal the title.
    ///   - scope: the link for which the manifest is rewritten.
    ///   - service: the scheme, host and port of the service, as the player writes them.
    ///   - read: opens the whole resource for reading.
    /// - Throws: the errors of reading; ``VaultError`` with code `invalidResponse` if the manifest cannot be used.
    func open(
        _ resource: NamedResource, of title: MediaURL?, through scope: LinkScope, at service: String,
        read: @escaping @Sendable () async throws -> MediaReader
    ) async throws -> PlayableManifest? {
        let (loader, lease) = try loaders.use(resource)
        defer { withExtendedLifetime(lease) {} }
        // One request is handled at a time, and the others reuse its result.
        return try await lock(of: resource.id, loader).exclusively {
            let manifest = try await ManifestOpening(
                resource: resource, hiddenTitle: title, scope: scope, service: service, loader: loader,
                playback: self, seat: ManifestSeat(in: loaders.environment.manifestSemaphore), read: read
            ).open()
            // A version that only began like a manifest may be replaced by media.
            if manifest == nil { played.withLock { $0.note(resource.id, isManifest: false) } }
            return manifest
        }
    }

    /// Forgets all manifests that were read, and the request fields with which they were requested.
    func end() {
        played.withLock { $0.removeAll() }
        loaders.environment.principalFields.removeAll()
        partOwners.removeAll()
    }

    private func lock(of id: ResourceID, _ loader: ResourceLoader) -> AsyncLock {
        played.withLock { $0.lock(of: id, owner: loader) }
    }

    // MARK: State

    func live(_ id: ResourceID) -> LiveManifest? { played.withLock { $0.live(id) } }

    func keep(_ live: LiveManifest?, of id: ResourceID, at url: MediaURL) {
        played.withLock { $0.keep(live, of: id, at: url) }
    }

    func isLikelyLive(_ url: MediaURL) -> Bool { played.withLock { $0.isLikelyLive(url) } }

    func text(of id: ResourceID, for scope: LinkScope, at service: String) -> PlayedManifests.Text? {
        let revision = loaders.environment.store.keyring.revision
        return played.withLock { $0.text(of: id, for: scope, at: service, revision: revision) }
    }

    func keep(_ text: PlayedManifests.Text, of id: ResourceID) { played.withLock { $0.keep(text, of: id) } }

    func refusal(of digest: ManifestDigest, _ id: ResourceID) -> VaultError? {
        played.withLock { $0.refusal(of: digest, id) }
    }

    func refuse(_ digest: ManifestDigest, _ error: VaultError, of id: ResourceID) {
        played.withLock { $0.refuse(digest, error, of: id) }
    }

    /// Returns a name for a new version of a live manifest.
    func nextVersion() -> String { "live-\(versions.add(1, ordering: .relaxed).newValue)" }

    /// Lets links that carry a principal use the request fields with which the manifest was requested.
    func note(_ fields: OriginFields?, of principal: [UInt8]?) {
        guard let fields, let principal else { return }
        loaders.environment.principalFields.note(fields, of: principal)
    }

    /// Removes what is stored of a resource, unless the resource was downloaded or pinned, or has a mode of its own.
    ///
    /// If it cannot be removed, it stays in the vault until it is evicted.
    func removeIfOnlyPlayed(_ resource: NamedResource) async throws {
        let (store, pool, id) = (loaders.environment.store, loaders.environment.pool, resource.id)
        let isOnlyPlayed = try await pool.run {
            try store.index.resources.find(id).map { $0.resourceClass == .cache && $0.metadata.mode == nil } ?? false
        }
        guard isOnlyPlayed else { return }
        _ = try? await loaders.remove(resource.reference) { store, id in try store.resources.remove(id) }
        // The removal ends the loader, so the next loader becomes the owner of what is remembered.
        let (loader, lease) = try loaders.use(resource)
        defer { withExtendedLifetime(lease) {} }
        _ = lock(of: id, loader)
    }
}
