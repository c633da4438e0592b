// Manifests as players get them.
extension Vault {
    /// Returns whether a resource is a manifest, as far as that is known without asking its origin.
    package func isManifest(_ resource: NamedResource) -> Bool { manifests.isManifest(resource) }

    /// Records that a resource is a manifest, because it begins like one.
    package func noteManifest(_ resource: NamedResource) { manifests.note(resource) }

    /// Reads a manifest whole, with playback links in place of its references.
    ///
    /// A manifest that may change is requested from its origin each time, and is not stored if it is only played.
    ///
    /// - Parameters:
    ///   - admission: the verified link of the request: what the manifest names gets links that open no more and expire
    ///     no later.
    ///   - service: scheme, host and port of the service, as the player spells them.
    /// - Returns: nil if the resource is no manifest.
    /// - Throws: ``VaultError`` as ``read(_:range:)-(MediaReference,_)``; with code `invalidResponse` also if the
    ///   manifest is malformed or too large.
    package func manifest(
        _ resource: NamedResource, through admission: TokenIssuer.Admission, at service: String
    ) async throws -> PlayableManifest? {
        let resource = try await current(resource)
        return try await manifests.open(resource, through: admission.scope, at: service) { [self] in
            try await read(resource, range: .whole)
        }
    }
}
