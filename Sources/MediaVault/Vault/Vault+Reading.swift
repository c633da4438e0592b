package import VaultModel
import VaultStorage

// Resources named by a URL alone.
extension Vault {
    /// Returns information as ``information(for:)-(MediaReference)`` does, for the resource with this URL.
    public func information(for url: MediaURL) async throws -> ContentInformation {
        try await information(for: MediaReference(url))
    }

    /// Returns the head as ``head(of:)-(MediaReference)`` does, for the resource with this URL.
    public func head(of url: MediaURL) async throws -> MediaHead { try await head(of: MediaReference(url)) }

    /// Reads as ``read(_:range:)-(MediaReference,_)`` does, for the resource with this URL.
    public func read(_ url: MediaURL, range: RequestedRange = .whole) async throws -> MediaReader {
        try await read(MediaReference(url), range: range)
    }
}

// Delivers bytes that are available without waiting.
extension Vault {
    /// Returns all requested bytes if they are held and fresh, and if the resource was read recently; otherwise nil.
    package func held(_ resource: NamedResource, range: RequestedRange) -> HeldMedia? {
        guard let loader = loaders.loaderInUse(resource.id),
            let found = loader.look({ $0.held(range, now: store.index.now()) }),
            loader.mayGive(found.information, for: resource.reference)
        else { return nil }
        return HeldMedia(found: found, resource: resource, loader: loader)
    }

    /// Opens held bytes into a buffer of the same size, if they form one run in a segment that is already open.
    ///
    /// - Returns: false if this would have to wait, or if a block does not open. The buffer's content is then
    ///   meaningless, and the cause must be determined with a reader.
    package func open(_ held: HeldMedia, into place: UnsafeMutableRawBufferPointer) -> Bool {
        let (loader, segment, range) = (held.loader, held.found.segment, held.range)
        // The buffer belongs to the caller, so its length may differ from the range's.
        guard held.isOneRun(atMost: place.count), let reader = loader.opened.reader(of: segment.id),
            let isOpen = try? unsafe reader.open(range, of: segment, into: place, mayWait: false), isOpen
        else { return false }
        let now = store.index.now()
        loader.urls.give(held.resource.reference)
        noteAccess(of: loader, at: now)
        answers.note([ByteTrace(range, .vault)], of: held.resource.id, at: now)
        return true
    }

    /// Returns a reader of held bytes, without waiting.
    ///
    /// - Returns: nil if the resource has since begun another representation, was removed, or got another name, or if
    ///   the vault was closed.
    package func reader(of held: HeldMedia) -> MediaReader? {
        guard names.isCurrent(held.resource), let (loader, lease) = try? loaders.use(held.resource),
            loader === held.loader,
            let opening = loader.open(held.found)
        else { return nil }
        return reader(opening, of: held.resource.reference, loader, lease)
    }

    /// Returns the held ranges of a resource, if the reference is allowed to use them.
    package func heldRanges(of reference: MediaReference) async throws -> [ByteRange] {
        let (loader, lease) = try await use(reference)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        guard loader.mayGive(loader.look { $0.information }, for: reference) else { return [] }
        return try await summary(of: reference)?.held ?? []
    }

    /// Records that a resource was accessed, unless its mode is `noStore`.
    ///
    /// - Parameter now: the current time, in seconds since 1970.
    func noteAccess(of loader: ResourceLoader, at now: Int64) {
        guard loader.look({ $0.mode != .noStore }) else { return }
        accessTimes.withLock { $0.note(loader.record.id, hour: now / 3600) }
    }
}

// Admits the targets of requests.
extension Vault {
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

    /// Returns whether the vault has a title with this id.
    package func hasTitle(_ id: TitleID) async throws -> Bool {
        let store = store
        return try await pool.run { try !store.index.titleIDs.resources(id).isEmpty }
    }

    /// Returns whether a viewer may play a resource through a link: whether it is a part of the link's title, or of a
    /// title that is shared with the viewer.
    ///
    /// A resource that the vault does not have counts as no part, because its name could belong to anything in the same
    /// folder of the origin.
    package func mayPlay(_ resource: NamedResource, below hidden: HiddenTitle) async throws -> Bool {
        let (store, id) = (store, resource.id)
        let own = try await name(reference(of: hidden.title)).id
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
}
