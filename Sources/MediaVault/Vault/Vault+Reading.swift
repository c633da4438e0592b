package import VaultModel
import VaultStorage

// Resources named by a URL alone.
extension Vault {
    /// ``information(for:)-(MediaReference)`` for the resource with this URL.
    public func information(for url: MediaURL) async throws -> ContentInformation {
        try await information(for: MediaReference(url))
    }

    /// ``head(of:)-(MediaReference)`` for the resource with this URL.
    public func head(of url: MediaURL) async throws -> MediaHead { try await head(of: MediaReference(url)) }

    /// ``read(_:range:)-(MediaReference,_)`` for the resource with this URL.
    public func read(_ url: MediaURL, range: RequestedRange = .whole) async throws -> MediaReader {
        try await read(MediaReference(url), range: range)
    }
}

// Bytes that are given without waiting.
extension Vault {
    /// Returns a reader as ``read(_:range:)`` does, if this requires no waiting.
    ///
    /// All requested bytes must be held and fresh, and the resource must have been read recently and still have its
    /// name. Returns nil otherwise, and on any error.
    package func readHeld(_ resource: NamedResource, range: RequestedRange) -> MediaReader? {
        guard names.isCurrent(resource), loader(of: resource.id) != nil,
            let (loader, lease) = try? loaders.use(resource), let opening = loader.openHeld(range)
        else { return nil }
        return reader(opening, loader, lease)
    }

    /// Returns all requested bytes, if they are in one segment that is already open.
    ///
    /// - Parameter count: the most bytes that may be returned.
    /// - Returns: nil if there are more bytes, if anything has to be waited for, or on any error.
    package func held(_ resource: NamedResource, range: RequestedRange, atMost count: Int) -> HeldMedia? {
        guard let loader = loaders.loaderInUse(resource.id) else { return nil }
        let now = store.now()
        guard let held = loader.look({ $0.held(range, now: now) }), held.range.length <= Int64(count),
            held.run.upperBound >= held.range.upperBound, let reader = loader.opened.reader(of: held.segment.id)
        else { return nil }
        loader.addresses.give(resource.reference)
        return HeldMedia(held, reader, entityTag: loader.name(held.entityTag, of: held.information)) { [self] in
            noteAccess(of: loader)
            answers.note([ByteTrace(held.range, .vault)], of: resource.id, at: now)
        }
    }

    /// Records that a resource was accessed, unless its mode is `noStore`.
    func noteAccess(of loader: ResourceLoader) {
        guard loader.look({ $0.mode != .noStore }) else { return }
        accessTimes.withLock { $0.note(loader.record.id, hour: store.now() / 3600) }
    }
}

// Admission of targets.
extension Vault {
    /// Verifies a target as ``TokenIssuer/reference(ofTarget:now:)`` does, and names its resource.
    ///
    /// The result can be kept, because ``isValid(_:now:)`` is faster than verifying and naming again.
    package func admission(ofTarget target: String, now: Int64) -> TokenIssuer.Admission? {
        guard var admission = tokens.admission(ofTarget: target, now: now) else { return nil }
        admission.resource = try? names.nameAtOnce(admission.reference.settled())
        return admission
    }

    /// Returns whether the vault is open, an earlier admission is still valid, and its resource has the same name.
    package func isValid(_ admission: TokenIssuer.Admission, now: Int64) -> Bool {
        loaders.isOpen && tokens.isValid(admission, now: now) && admission.resource.map(names.isCurrent) ?? true
    }
}
