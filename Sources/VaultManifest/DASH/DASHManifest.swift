package import VaultModel

/// A DASH media presentation description (ISO/IEC 23009-1).
package struct DASHManifest: Sendable {
    /// Refuses every manifest: none can be led through the vault yet.
    package init(_ bytes: [UInt8], url: MediaURL, limits: ManifestLimits) throws(ManifestError) {
        throw .notAManifest
    }

    package var isLive: Bool { true }
    package var references: [ManifestReference] { [] }
    package var renditions: [Rendition] { [] }
    package var duration: Duration? { nil }
    package var title: String? { nil }
    package func rewritten(_ link: (ManifestReference) throws -> String?) rethrows -> [UInt8] { [] }
    package func selecting(_ selection: RenditionSelection) -> DASHManifest { self }
}
