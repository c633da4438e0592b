import VaultCache
import VaultManifest
import VaultModel
import VaultStorage

/// A manifest that is held. It is read whole from the vault, without contacting its origin.
struct HeldManifest: Sendable {
    let manifest: Manifest
    /// The URL from which the manifest came; URLs in it are relative to this one.
    let base: MediaURL
    let byteCount: Int

    /// The number of leading bytes that are enough to detect a manifest and its kind.
    private static let headBytes = 1024

    /// Reads a resource; nil if it is not a manifest. Blocks.
    ///
    /// - Parameters:
    ///   - kind: the kind to assume if neither the type nor the content shows one; nil to return nil in that case.
    ///   - variables: the variables defined by the manifest that names this resource.
    /// - Throws: ``VaultError`` with code `notHeld` or `integrity` if the resource cannot be read whole, or
    ///   `invalidResponse` if the manifest cannot be used.
    init?(
        _ resource: NamedResource, in store: VaultStore, as kind: ManifestKind? = nil,
        variables: [String: String] = [:], limits: ManifestLimits = .standard
    ) throws {
        let url = resource.reference.url
        var source = try ExportSource(store, resource.id, url)
        let stated = ManifestDetection.kind(type: source.information.type, path: url.path)
        guard kind != nil || stated != nil || !(source.information.type.map(MediaType.isKnownMedia) ?? false) else {
            return nil
        }
        var bytes = source.length > 0 ? try source.bytes(at: 0, of: store) : []
        guard let kind = ManifestDetection.kind(of: bytes.prefix(Self.headBytes)) ?? stated ?? kind else { return nil }
        guard source.length <= Int64(limits.maxBytes) else {
            throw Manifest.unusable(url, .tooLarge(limit: limits.maxBytes))
        }
        while bytes.count < source.length { bytes += try source.bytes(at: Int64(bytes.count), of: store) }
        byteCount = bytes.count
        base = source.information.location ?? url
        manifest = try Manifest.usable(bytes, kind, of: url, at: base, variables: variables, limits: limits)
    }
}
