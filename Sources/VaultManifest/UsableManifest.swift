package import VaultModel

// A failing origin may, even with status 200, send something other than the manifest, such as a truncated one, an empty
// one, or the text of an error.
extension Manifest {
    /// Parses a manifest, and requires that a player can use it. Blocks.
    ///
    /// - Parameters:
    ///   - bytes: the manifest's text.
    ///   - kind: the kind of manifest to parse.
    ///   - url: the URL of the resource, for the error's message.
    ///   - base: the URL to which the manifest's references are relative.
    ///   - variables: the variables that the playlist naming this one defines.
    ///   - limits: the limits that the manifest must keep to.
    /// - Throws: ``VaultError`` with code `invalidResponse` if the manifest cannot be used, or names nothing.
    package static func usable(
        _ bytes: [UInt8], _ kind: ManifestKind, of url: MediaURL, at base: MediaURL, variables: [String: String] = [:],
        limits: ManifestLimits
    ) throws(VaultError) -> Manifest {
        do throws(ManifestError) {
            let manifest = try Manifest(bytes, kind: kind, url: base, variables: variables, limits: limits)
            // A broadcast may not have begun, so its manifest may still be empty.
            guard manifest.isLive || manifest.namesSomething else { throw .namesNothing }
            return manifest
        } catch {
            throw unusable(url, error)
        }
    }

    package static func unusable(_ url: MediaURL, _ error: ManifestError) -> VaultError {
        VaultError(.invalidResponse, "\(url) is a playlist that cannot be used: \(error)")
    }
}
