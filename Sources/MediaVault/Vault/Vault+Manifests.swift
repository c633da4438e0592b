import VaultModel

// Manifests as players receive them.
extension Vault {
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
            if let hidden = admission.scope.hidden { try? await reference(of: hidden.title).url } else { nil }
        return try await manifests.open(resource, of: title, through: admission.scope, at: service) { [self] in
            try await read(resource, range: .whole)
        }
    }
}
