import VaultModel

// Manifests as players receive them.
extension Vault {
    /// Returns whether a resource is a manifest, as far as that is known without contacting its origin.
    package func isManifest(_ resource: NamedResource) -> Bool { manifests.isManifest(resource) }

    /// Returns whether the first bytes of a resource were seen, and are media.
    package func isMedia(_ resource: NamedResource) -> Bool { manifests.isMedia(resource) }

    /// Records what the first bytes of a resource show it to be.
    ///
    /// - Parameter start: the bytes that ``MediaReader/start()`` of the reader returned.
    package func note(_ start: [UInt8], of reader: MediaReader, _ resource: NamedResource) {
        manifests.note(start, of: reader, resource)
    }

    /// Examines the beginning of a resource, unless that was done: a player may request another part first.
    ///
    /// - Parameter isBegun: whether the first bytes are present, but were too few.
    /// - Returns: whether the beginning was requested from the origin.
    /// - Throws: `CancellationError`.
    package func examine(_ resource: NamedResource, isBegun: Bool = false) async throws -> Bool {
        let resource = try await current(resource)
        return try await manifests.examine(resource, isBegun: isBegun) { [self] range in
            try await read(resource, range: range)
        }
    }

    /// Reads a manifest whole, with playback links in place of its references.
    ///
    /// A manifest that may change is requested from its origin each time, and is not stored if it is only played.
    ///
    /// - Parameters:
    ///   - admission: the verified link of the request: the resources that the manifest names get links that open no
    ///     more and expire no later.
    ///   - service: the scheme, host and port of the service, as the player spells them.
    /// - Returns: the manifest; nil if the resource is not one.
    /// - Throws: ``VaultError`` as ``read(_:range:)-(MediaReference,_)``; with code `invalidResponse` also if the
    ///   manifest is malformed or too large.
    package func manifest(
        _ resource: NamedResource, through admission: TokenIssuer.Admission, at service: String
    ) async throws -> PlayableManifest? {
        let resource = try await current(resource)
        // A title that is not stored yet is represented by this manifest itself.
        let title: MediaURL? =
            if let hidden = admission.scope.hidden { try? await reference(of: hidden.title).url } else { nil }
        return try await manifests.open(resource, of: title, through: admission.scope, at: service) { [self] in
            try await read(resource, range: .whole)
        }
    }
}
