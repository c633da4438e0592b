import VaultCache
import VaultCrypto
import VaultFetch
import VaultManifest
import VaultModel
import VaultStorage

/// One request for a manifest: reads all of it, from the vault or its origin, and rewrites it for one link.
struct ManifestOpening: Sendable {
    let resource: NamedResource
    /// The URL of the title that a viewer plays; nil if the title's links need not conceal it.
    let hiddenTitle: MediaURL?
    let scope: LinkScope
    /// The scheme, host and port of the service.
    let service: String
    let loader: ResourceLoader
    let playback: ManifestPlayback
    let seat: ManifestSeat
    /// Opens the whole resource for reading.
    let read: @Sendable () async throws -> MediaReader

    private var id: ResourceID { resource.id }
    private var url: MediaURL { resource.reference.url }
    private var limits: ManifestLimits { playback.limits }

    /// Returns the rewritten manifest; nil if the resource is not a manifest.
    ///
    /// - Throws: the errors of reading; ``VaultError`` with code `invalidResponse` if the manifest cannot be used.
    func open() async throws -> PlayableManifest? {
        try await loader.ready()
        let live = playback.live(id)
        try await DerivedAccess(to: loader, for: resource.reference).admit(copy: live?.information)
        if let copy = live {
            // The copy does not count if the playlist that names this one now defines other variables.
            return try await current(copy.variables == scope.variables ? copy : nil)
        }
        let status = loader.status
        let isUnknown = status.information == nil && status.mode.allowsRequests
        if isUnknown, url.query != nil, playback.isLikelyLive(url) { return try await current(nil) }
        return try await stored()
    }

    // MARK: Stored like other resources

    /// Reads the manifest like any other resource, from the vault or its origin.
    ///
    /// - Parameter isLastTry: whether an unusable manifest fails without another request, because one was just sent.
    private func stored(isLastTry: Bool = false) async throws -> PlayableManifest? {
        let title = loader.record.title
        if title == nil, let text = playback.text(of: id, for: scope, at: service) {
            let head = try await InformationLookup(of: loader).head()
            if head.entityTag.opaque == text.version {
                return PlayableManifest(
                    text: text.manifest, information: head.information, source: .held, bypass: nil,
                    staleness: head.staleness, originStatus: head.originStatus)
            }
        }
        let asked = ContinuousClock.now
        let reader = try await read()
        defer { reader.cancel() }
        guard let (kind, bytes) = try await content(of: reader) else { return nil }
        let manifest: Manifest
        do {
            let digest = scope.variables.isEmpty ? try await digest(of: bytes) : nil
            manifest = try await parse(bytes, kind, reader.information, digest)
        } catch {
            reader.cancel()
            guard reader.source != .fetched, !isLastTry else {
                await reject()
                throw error
            }
            guard loader.forgetUnusable() else { throw error }
            return try await stored(isLastTry: true)
        }
        guard !manifest.isLive else {
            let isNew = reader.source == .fetched && reader.staleness == nil
            let copy = LiveManifest(
                manifest: manifest, information: reader.information, version: "live-\(reader.entityTag.opaque)",
                variables: scope.variables, confirmed: isNew ? asked : nil)
            reader.cancel()
            return try await current(try await keepLive(copy))
        }
        let held = try await heldPart(of: manifest, reader.staleness)
        return try await give(
            held ?? manifest, reader.information, version: reader.entityTag.opaque + (held == nil ? "" : "-held"),
            source: reader.source, bypass: reader.bypass, staleness: reader.staleness,
            originStatus: reader.originStatus)
    }

    /// Discards what was stored instead of a manifest, so that the next request asks the origin.
    private func reject() async {
        guard loader.forgetUnusable(), !loader.status.hasReaders, loader.store.isOwner else { return }
        // Even if it cannot be removed, the next request asks the origin.
        try? await playback.removeIfOnlyPlayed(resource)
    }

    /// Returns only the held part of a fetched title's manifest, unless the origin confirms that the rest is available.
    /// A player would stall on missing parts.
    ///
    /// - Returns: nil if the whole manifest can be offered.
    private func heldPart(of manifest: Manifest, _ staleness: Staleness?) async throws -> Manifest? {
        guard let held = loader.record.title?.heldPart(of: manifest),
            held.references.count < manifest.references.count
        else { return nil }
        let status = loader.status
        guard status.mode.allowsRequests, status.mode != .preferVault, staleness == nil else { return held }
        return try await loader.check.isProvided(within: loader.retryPolicy.staleTimeLimit) ? nil : held
    }

    /// Reads the whole resource; returns nil if it is not a manifest.
    private func content(of reader: MediaReader) async throws -> (kind: ManifestKind, bytes: [UInt8])? {
        var bytes = try await reader.start() ?? []
        let stated = ManifestDetection.kind(type: reader.information.type, path: url.path)
        guard let kind = ManifestContent.kind(of: bytes) ?? stated else { return nil }
        if reader.information.length ?? 0 > Int64(limits.maxBytes) { throw tooLarge }
        while let more = try await reader.next() { try await add(more, to: &bytes, of: reader.information.length) }
        // If its task is cancelled, a reader ends as if it had returned everything.
        try Task.checkCancellation()
        guard reader.information.length.map({ $0 == bytes.count }) ?? true else {
            throw MediaReader.hole(at: Int64(bytes.count), isDamage: false)
        }
        return (kind, bytes)
    }

    /// Appends newly arrived bytes to a manifest.
    private func add(_ more: some Collection<UInt8>, to bytes: inout [UInt8], of length: Int64?) async throws {
        let count = bytes.count + more.count
        guard count <= limits.maxBytes else { throw tooLarge }
        guard try await seat.mayTake(count) else { throw tooSlow }
        // Reserve all the space at once, because an array that grows is in memory twice while it is copied.
        if count > ManifestSemaphore.smallBytes, let length, bytes.capacity < length, length <= limits.maxBytes {
            bytes.reserveCapacity(Int(length))
        }
        bytes += more
    }

    // MARK: Live

    /// Returns a live manifest in its current version at the origin, or the copy while that is useful.
    private func current(_ copy: LiveManifest?) async throws -> PlayableManifest? {
        if let copy, copy.isRecent(now: .now) { return try await give(copy) }
        guard !loader.isOffline else {
            guard let copy, copy.isOfUse(now: .now) else { throw MediaReader.hole(at: 0, isDamage: false) }
            return try await give(copy, staleness: .offline)
        }
        do {
            let answer = try await ask(copy)
            guard let answer else {
                guard let confirmed = playback.live(id) else { return try await stored() }
                return try await give(confirmed, originStatus: 304)
            }
            // The manifest of a broadcast that has ended is stored like that of any other title.
            guard answer.manifest.isLive else {
                playback.keep(nil, of: id, at: url)
                return try await stored()
            }
            playback.keep(answer, of: id, at: url)
            let began = ContinuousClock.now
            let given = try await give(answer)
            if var worked = playback.live(id), worked.digest != nil, worked.version == answer.version {
                worked.work += .now - began
                playback.keep(worked, of: id, at: url)
            }
            return given
        } catch is OriginReachability.TooSlow {
            return try await give(copy, or: FetchFailure.origin(.noResponse), staleness: .slow)
        } catch let failure as OriginFailure {
            loader.origin.note(failure)
            return try await give(copy, or: .origin(failure), staleness: Self.staleness(after: failure))
        }
    }

    /// Requests a live manifest from its origin, without storing it.
    ///
    /// - Returns: the new version; nil if the origin's version is still that of the copy, which then counts as
    ///   confirmed.
    /// - Throws: ``OriginFailure``; `TooSlow` if the origin is slow and there is a copy to serve instead.
    private func ask(_ copy: LiveManifest?) async throws -> LiveManifest? {
        guard let copy, copy.isOfUse(now: .now) else { return try await request(unless: copy) }
        let limit = loader.retryPolicy.revalidationTimeLimit
        return try await loader.origin.contact.within(limit) { try await request(unless: copy) }
    }

    private func request(unless copy: LiveManifest?) async throws -> LiveManifest? {
        let asked = ContinuousClock.now
        let validators = copy?.information.validators ?? Validators()
        let exchange = try await loader.origin.ask { url in
            OriginRequest(url: url, ifChangedFrom: validators == Validators() ? nil : validators)
        }
        guard let (request, response) = exchange else { throw OriginFailure.noResponse }
        defer { response.cancel() }
        loader.origin.noteAnswer()
        let head = loader.heard(response.head)
        if var copy, head.status == 304, request.ifChangedFrom != nil {
            copy.confirmed = asked
            playback.keep(copy, of: id, at: url)
            return nil
        }
        let content = try ResponseCheck.content(of: head, asked: request)
        let information = ResponseCheck.information(of: head, asked: request, content: content)
        guard case .whole(let length) = content else {
            throw OriginFailure(.invalidResponse, "a part was sent, but the whole was requested")
        }
        let bytes = try await body(of: response, length)
        let stated = ManifestDetection.kind(type: information.type, path: url.path)
        guard let kind = ManifestContent.kind(of: bytes) ?? stated else { throw notAManifest }
        let (began, digest) = (ContinuousClock.now, try await digest(of: bytes))
        if var copy, let digest, copy.digest == digest, copy.information.location == information.location {
            copy.confirmed = asked
            playback.keep(copy, of: id, at: url)
            return nil
        }
        let manifest = try await parse(bytes, kind, information, digest)
        return LiveManifest(
            manifest: manifest, information: information, version: playback.nextVersion(),
            variables: scope.variables, confirmed: asked, digest: digest,
            work: digest == nil ? .zero : .now - began)
    }

    private func body(of response: any OriginResponse, _ length: Int64?) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let more = try await response.nextBytes() {
            loader.store.countFetched(Int64(more.count))
            try await add(more, to: &bytes, of: length)
        }
        guard length.map({ $0 == bytes.count }) ?? true else {
            throw OriginFailure(.interrupted, "the answer ended early")
        }
        return bytes
    }

    /// Keeps a live manifest in memory after it was read like other resources, and removes what was stored of it.
    ///
    /// A manifest is not known to be live until it has been read. One that was downloaded, pinned or given a mode of
    /// its own remains stored.
    private func keepLive(_ copy: LiveManifest) async throws -> LiveManifest {
        playback.keep(copy, of: id, at: url)
        guard !loader.isOffline, !loader.status.hasReaders, loader.store.isOwner else { return copy }
        try await playback.removeIfOnlyPlayed(resource)
        return copy
    }

    private func give(
        _ copy: LiveManifest, staleness: Staleness? = nil, originStatus: Int? = nil
    ) async throws -> PlayableManifest {
        try await give(
            copy.manifest, copy.information, version: copy.version, source: .fetched, bypass: .live,
            staleness: staleness, originStatus: originStatus)
    }

    private func give(
        _ copy: LiveManifest?, or failure: FetchFailure, staleness: Staleness?
    ) async throws -> PlayableManifest {
        guard let copy, let staleness, copy.isOfUse(now: .now) else { throw failure.vaultError(for: url, at: 0) }
        return try await give(copy, staleness: staleness)
    }

    /// Returns the reason for serving a copy in place of an origin's answer; nil if the origin's answer counts.
    private static func staleness(after failure: OriginFailure) -> Staleness? {
        switch failure.kind {
        case .unreachable, .interrupted: .unreachable
        case .refused(let status, _) where status >= 500 || status == 429: .refused
        case .refused, .invalidResponse: nil
        }
    }

    // MARK: Rewriting

    /// Parses a manifest, or throws the same error again if the same text was refused before.
    ///
    /// - Parameter digest: the digest of the text; nil if none was computed.
    private func parse(
        _ bytes: [UInt8], _ kind: ManifestKind, _ information: ContentInformation, _ digest: ManifestDigest?
    ) async throws -> Manifest {
        let (url, limits, variables) = (base(of: information), limits, scope.variables)
        // With other variables, the same text may yield another manifest.
        let digest = variables.isEmpty ? digest : nil
        if let digest, let error = playback.refusal(of: digest, id) { throw error }
        do {
            return try await BlockingPool.manifests.run {
                try Manifest.usable(bytes, kind, of: url, at: url, variables: variables, limits: limits)
            }
        } catch let error as VaultError {
            if let digest { playback.refuse(digest, error, of: id) }
            throw error
        }
    }

    /// Returns the digest of a text; nil for a small text, which can be parsed just as fast.
    private func digest(of bytes: [UInt8]) async throws -> ManifestDigest? {
        guard bytes.count > ManifestSemaphore.smallBytes else { return nil }
        return try await BlockingPool.manifests.run { ManifestDigest(of: bytes) }
    }

    /// Returns the URL to which the manifest's references are relative.
    private func base(of information: ContentInformation) -> MediaURL { information.location ?? scope.url }

    private func give(
        _ manifest: Manifest, _ information: ContentInformation, version: String, source: MediaReader.Source,
        bypass: BypassReason?, staleness: Staleness?, originStatus: Int?
    ) async throws -> PlayableManifest {
        try DerivedAccess(to: loader, for: resource.reference).require(information)
        let known = playback.text(of: id, for: scope, at: service).flatMap { $0.version == version ? $0.manifest : nil }
        let text: RewrittenManifest
        if let known { text = known } else { text = try await rewrite(manifest, information, version) }
        return PlayableManifest(
            text: text, information: information, source: source, bypass: bypass, staleness: staleness,
            originStatus: originStatus)
    }

    private func rewrite(
        _ manifest: Manifest, _ information: ContentInformation, _ version: String
    ) async throws -> RewrittenManifest {
        let fields = loader.origin.urls.current.fields
        playback.note(fields, of: resource.key.principal)
        let linker = ManifestLinker(
            scope: scope, base: base(of: information), isDerived: resource.reference.isDerived,
            principal: resource.key.principal, exports: PlaylistVariables(manifest.exports))
        let (tokens, revision) = (TokenIssuer(keyring: loader.store.keyring), loader.store.keyring.revision)
        // Players take a DASH base URL that begins at the root for one relative to the manifest.
        let prefix = manifest.kind == .dash ? service : ""
        let (text, names) = try await BlockingPool.manifests.run { [hiddenTitle] in
            var writer = try ManifestLinkWriter(linker, tokens, service: prefix)
            let urls = [linker.scope.url, linker.base] + (hiddenTitle.map { [$0] } ?? [])
            let traces = linker.scope.hidden.map { _ in OriginTraces(urls) }
            let bytes = (traces.map(manifest.sanitized) ?? manifest).placed(at: linker.scope.url)
                .rewritten(hidesNames: traces != nil) { writer.text(for: $0) }
            let text = RewrittenManifest(kind: manifest.kind, bytes: bytes)
            // A template can produce more segment names than the text lists, and players may round the segment count,
            // so everything in the referenced folders is treated as part of the title.
            if manifest.kind == .dash { for reference in manifest.references { writer.noteFolder(of: reference) } }
            return (text, writer.names)
        }
        noteParts(manifest, names)
        playback.keep(
            PlayedManifests.Text(
                manifest: text, version: version, scope: scope, service: service, revision: revision), of: id)
        return text
    }

    /// Records what the manifest names, so that the parts of it that a player requests are stored as parts of the
    /// title.
    private func noteParts(_ manifest: Manifest, _ names: PartOwners.Names) {
        // A broadcast would add parts without end.
        guard !manifest.isLive else { return }
        let record = loader.record
        // The manifest may not be stored yet. A manifest that is never stored does not become a title.
        let stored = record.metadata?.partOf ?? []
        let titles = stored.isEmpty ? record.playedTitles.withLock(\.self) : stored
        playback.partOwners.note(id, of: titles.isEmpty ? [resource.key.bytes] : titles, names)
    }

    private var tooLarge: VaultError {
        Manifest.unusable(url, .tooLarge(limit: limits.maxBytes))
    }

    private var tooSlow: VaultError {
        VaultError(
            .unreachable, "\(url) is a large playlist that arrives slowly, and other large ones wait; try again later")
    }

    private var notAManifest: VaultError {
        VaultError(.invalidResponse, "\(url) is no playlist any more; open it again")
    }
}

extension Manifest {
    fileprivate var kind: ManifestKind {
        switch self {
        case .hls: .hls
        case .dash: .dash
        }
    }
}
