import VaultCache
package import VaultModel
import VaultStorage

/// Playback, as a service offers it: which links open what, the bytes that can be delivered without waiting, and
/// manifests.
public struct Playback: Sendable {
    let titles: Titles
    let tokens: TokenIssuer
    let viewers: Viewers
    /// Serves manifests to players.
    let manifests: ManifestPlayback
    /// When resources were last read.
    let accessTimes: AccessTimes

    private var loaders: LoaderTable { titles.loaders }
    private var store: VaultStore { titles.store }
    private var pool: BlockingPool { titles.pool }
    private var names: ResourceNames { loaders.environment.names }

    /// Verifies a target as ``TokenIssuer/reference(ofTarget:now:)`` does, and also names its resource.
    ///
    /// The result can be kept, because ``isValid(_:now:)`` is faster than verifying and naming again.
    package func admission(ofTarget target: String, now: Int64) -> TokenIssuer.Admission? {
        guard var admission = tokens.admission(ofTarget: target, now: now) else { return nil }
        admission.reference.isLinked = true
        // A target below a hidden link must be looked up first, so it has no name yet.
        if !admission.isBelow { admission.resource = try? names.nameAtOnce(admission.reference.settled()) }
        return mayPlay(admission, now: now) ? admission : nil
    }

    /// Returns whether the vault is open, an earlier admission is still valid, and its resource still has the same
    /// name.
    package func isValid(_ admission: TokenIssuer.Admission, now: Int64) -> Bool {
        loaders.isOpen && tokens.isValid(admission, now: now) && admission.resource.map(names.isCurrent) ?? true
            && mayPlay(admission, now: now)
    }

    /// Returns whether the target of a link was removed a moment ago, so that the link opens nothing.
    package func wasRemoved(_ resource: NamedResource, through scope: LinkScope, now: Int64) -> Bool {
        loaders.environment.removed.refuses(resource, ofHidden: scope.hidden?.title, now: now)
    }

    /// Returns whether a viewer may play a resource through a link: whether it is a part of the link's title, or of a
    /// title that is shared with the viewer.
    ///
    /// A resource that the vault does not have counts as no part, because its name could belong to anything in the same
    /// folder of the origin.
    package func mayPlay(_ resource: NamedResource, below hidden: HiddenTitle) async throws -> Bool {
        let (store, id) = (store, resource.id)
        let own = try await titles.id(of: titles.reference(of: hidden.title))
        return try await pool.run { [viewers] in
            // The index also finds a small file in a pack.
            guard try store.index.resources.find(id) != nil else { return false }
            return try store.index.titles.named(for: id).contains(own)
                || viewers.isShared(store.index.titleIDs.id(of: id), with: hidden.viewer)
        }
    }

    /// Returns whether the title of a viewer's link is still shared with the viewer, and whether the link's target was
    /// not removed a moment ago. Both facts are kept in memory, and are updated before a removal is reported as done.
    private func mayPlay(_ admission: TokenIssuer.Admission, now: Int64) -> Bool {
        let hidden = admission.scope.hidden
        guard hidden.map({ viewers.isShared($0.title, with: $0.viewer) }) ?? true else { return false }
        guard let resource = admission.resource else {
            return !(hidden.map { loaders.environment.removed.refuses(hidden: $0.title, now: now) } ?? false)
        }
        return !wasRemoved(resource, through: admission.scope, now: now)
    }

    /// Reads as ``read(_:range:)-(MediaReference,_)`` does, for a named resource.
    package func read(_ resource: NamedResource, range: RequestedRange) async throws -> MediaReader {
        let (loader, lease) = try loaders.use(await current(resource))
        let opening = try await DerivedAccess(to: loader, for: resource.reference).open(range)
        return reader(opening, of: resource.reference, loader, lease)
    }

    /// Returns the head as ``head(of:)-(MediaReference)`` does, for a named resource.
    package func head(of resource: NamedResource) async throws -> MediaHead {
        let (loader, lease) = try loaders.use(await current(resource))
        defer { withExtendedLifetime(lease) {} }
        let access = DerivedAccess(to: loader, for: resource.reference)
        try await access.admit()
        let head = try await InformationLookup(of: loader).head()
        try access.require(head.information)
        return head
    }

    func reader(
        _ opening: Opening, of reference: MediaReference, _ loader: ResourceLoader, _ lease: LoaderLease
    ) -> MediaReader {
        noteAccess(of: loader, at: store.index.now())
        return MediaReader(opening, of: reference, loader: loader, lease: lease)
    }

    /// Returns a named resource, under its new name if its name has changed since.
    func current(_ resource: NamedResource) async throws -> NamedResource {
        names.isCurrent(resource) ? resource : try await loaders.name(resource.reference)
    }

    /// Returns all requested bytes if they are held and fresh, and if the resource was read recently; otherwise nil.
    package func held(_ resource: NamedResource, range: RequestedRange) -> HeldMedia? {
        loaders.loaderInUse(resource.id).flatMap { loader in
            HeldMedia.find(range, of: resource, in: loader, now: store.index.now())
        }
    }

    /// Opens held bytes into a buffer of the same size, if they form one run in a segment that is already open.
    ///
    /// - Returns: false if this would have to wait, or if a block does not open. The buffer's content is then
    ///   meaningless, and the cause must be determined with a reader.
    package func open(_ held: HeldMedia, into place: UnsafeMutableRawBufferPointer) -> Bool {
        guard unsafe held.open(into: place) else { return false }
        let now = store.index.now()
        noteAccess(of: held.loader, at: now)
        loaders.answers.note([ByteTrace(held.range, .vault)], of: held.resource.id, at: now)
        return true
    }

    /// Returns a reader of held bytes, without waiting.
    ///
    /// - Returns: nil if the resource has since begun another representation, was removed, or got another name, or if
    ///   the vault was closed.
    package func reader(of held: HeldMedia) -> MediaReader? {
        guard names.isCurrent(held.resource), let (loader, lease) = try? loaders.use(held.resource),
            loader === held.loader,
            let opening = held.opening()
        else { return nil }
        return reader(opening, of: held.resource.reference, loader, lease)
    }

    /// Records that a resource was accessed, unless its mode is `noStore`.
    ///
    /// - Parameter now: the current time, in seconds since 1970.
    func noteAccess(of loader: ResourceLoader, at now: Int64) {
        guard loader.mode != .noStore else { return }
        accessTimes.note(loader.record.id, hour: now / 3600)
    }

    /// Returns whether a resource is a manifest, as far as the vault knows without contacting the origin.
    package func isManifest(_ resource: NamedResource) -> Bool { manifests.isManifest(resource) }

    /// Returns whether the first bytes of a resource have been seen and are media.
    package func isMedia(_ resource: NamedResource) -> Bool { manifests.isMedia(resource) }

    /// Records the kind of a resource that its first bytes show.
    ///
    /// - Parameter start: the bytes that the reader's ``MediaReader/start()`` returned.
    package func note(_ start: [UInt8], of reader: MediaReader, _ resource: NamedResource) {
        manifests.note(start, of: reader, resource)
    }

    /// Examines the beginning of a resource unless it was already examined, because a player may request another range
    /// first.
    ///
    /// - Parameter isBegun: whether the first bytes have arrived, but were too few to decide.
    /// - Returns: whether the beginning was requested from the origin.
    /// - Throws: `CancellationError` if the task was cancelled.
    package func examine(_ resource: NamedResource, isBegun: Bool = false) async throws -> Bool {
        let resource = try await current(resource)
        return try await manifests.examine(resource, isBegun: isBegun) { [self] range in
            try await read(resource, range: range)
        }
    }

    /// Reads a whole manifest, and replaces its references with playback links.
    ///
    /// A manifest that may change is requested from its origin each time, and is not stored if it is only being played.
    ///
    /// - Parameters:
    ///   - admission: the verified link of the request. The links to resources that the manifest names open no more
    ///     than this link, and expire no later.
    ///   - service: the service's scheme, host and port, as the player spells them.
    /// - Returns: the manifest; nil if the resource is not a manifest.
    /// - Throws: the errors of ``read(_:range:)-(MediaReference,_)``; also ``VaultError`` with code `invalidResponse`
    ///   if the manifest is malformed or too large.
    package func manifest(
        _ resource: NamedResource, through admission: TokenIssuer.Admission, at service: String
    ) async throws -> PlayableManifest? {
        let resource = try await current(resource)
        // A title that is not stored yet has no reference; this manifest then stands for it.
        let title: MediaURL? =
            if let hidden = admission.scope.hidden { try? await titles.reference(of: hidden.title).url } else { nil }
        return try await manifests.open(resource, of: title, through: admission.scope, at: service) { [self] in
            try await read(resource, range: .whole)
        }
    }

    // MARK: For apps that hand a player its bytes themselves

    /// Reads what a playback link leads to, for an app that hands a player the bytes itself.
    ///
    /// - Parameters:
    ///   - target: the path and query of the link, as ``AccessGrants/playbackPath(for:expires:)`` creates it, or as the
    ///     manifest of ``manifest(ofTarget:at:)`` contains it.
    ///   - range: the bytes to read.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the target is no valid link of this vault, is a viewer's
    ///   link, or leads to a title that was removed a moment ago; the errors of
    ///   ``Vault/read(_:range:)-(MediaReference,_)``.
    public func read(ofTarget target: String, range: RequestedRange = .whole) async throws -> MediaReader {
        try await read(try await opened(target).resource, range: range)
    }

    /// Reads a whole manifest for an app that hands a player its bytes itself, and replaces its references with
    /// playback links. The player asks the app for each of them: ask for the manifest first, and then for the bytes with
    /// ``read(ofTarget:range:)``.
    ///
    /// - Parameters:
    ///   - target: the path and query of a playback link.
    ///   - place: the scheme and host before the path of each link, such as `vault://player`. The player must ask for
    ///     the manifest itself under them, because links may be relative.
    /// - Returns: the manifest; nil if the resource is not a manifest.
    /// - Throws: the errors of ``read(ofTarget:range:)``; ``VaultError`` with code `invalidResponse` if the manifest is
    ///   malformed or too large, or `invalidArgument` if the place is not a scheme and a host.
    public func manifest(ofTarget target: String, at place: String) async throws -> PlayableManifest? {
        guard Self.isPlace(place) else {
            throw VaultError(.invalidArgument, "a place for links is a scheme and a host, such as vault://player")
        }
        let (admission, resource) = try await opened(target)
        guard !isMedia(resource) else { return nil }
        _ = try await examine(resource)
        guard isManifest(resource) else { return nil }
        let manifest = try await manifest(resource, through: admission, at: place)
        guard isValid(admission, now: store.index.now()) else { throw Self.noLink }
        return manifest
    }

    /// Verifies a link and names its resource.
    private func opened(
        _ target: String
    ) async throws -> (admission: TokenIssuer.Admission, resource: NamedResource) {
        let now = store.index.now()
        // A viewer's link hides its origin, and only the service gives answers that do the same.
        guard let admission = admission(ofTarget: target, now: now), admission.scope.hidden == nil else {
            throw Self.noLink
        }
        let resource: NamedResource
        if let known = admission.resource {
            resource = known
        } else {
            resource = try await loaders.name(admission.reference)
        }
        guard !wasRemoved(resource, through: admission.scope, now: now) else { throw Self.noLink }
        return (admission, resource)
    }

    /// Returns whether a text is a scheme and a host, possibly with a port.
    private static func isPlace(_ text: String) -> Bool {
        guard let end = text.firstRange(of: "://") else { return false }
        let (scheme, host) = (text[..<end.lowerBound], text[end.upperBound...])
        func hasOnly(_ part: Substring, _ marks: String) -> Bool {
            !part.isEmpty && part.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || marks.contains($0)) }
        }
        return hasOnly(scheme, "-.") && hasOnly(host, "-.:[]")
    }

    private static let noLink = VaultError(
        .invalidArgument, "this is not a valid playback link of the vault, or it has expired; create another link")
}
