package import VaultModel

/// The limits on manifests that are parsed.
package struct ManifestLimits: Hashable, Sendable {
    /// Maximum bytes of a manifest.
    package var maxBytes = 32 << 20
    /// Maximum bytes of a line.
    package var maxLineBytes = 64 << 10
    /// Maximum number of references.
    package var maxReferences = 250_000
    /// Maximum bytes of all resolved URLs together: a short reference may be relative to a long URL.
    package var maxURLBytes = 128 << 20
    /// Maximum depth of nested elements.
    package var maxDepth = 32
    /// Maximum elements of an XML document.
    package var maxElements = 300_000
    /// Maximum attributes of one element: the parser compares each with all before it.
    package var maxAttributes = 64
    /// Maximum namespaces in scope at one place: the parser searches them for each prefix.
    package var maxNamespaces = 64

    /// The limits of the vault.
    package static let standard = ManifestLimits()

    /// Creates the limits of the vault; tests make them smaller.
    package init() {}
}

/// Counts the references of a manifest against the limits.
package struct ManifestBudget: Sendable {
    private let limits: ManifestLimits
    private var references = 0
    private var urlBytes = 0

    /// Creates an unspent budget.
    package init(_ limits: ManifestLimits) { self.limits = limits }

    /// Counts one more reference that a player would request.
    ///
    /// - Throws: ``ManifestError/tooManyReferences(limit:)``, or ``ManifestError/tooLarge(limit:)`` for long URLs.
    package mutating func spend(on url: MediaURL) throws(ManifestError) {
        try spendOne()
        try spend(bytes: url.path.utf8.count + (url.query?.utf8.count ?? 0))
    }

    /// Counts something else that takes memory for as long as the manifest is in use.
    package mutating func spendOne() throws(ManifestError) {
        references += 1
        guard references <= limits.maxReferences else { throw .tooManyReferences(limit: limits.maxReferences) }
    }

    /// Counts text that is longer than in the manifest.
    package mutating func spend(bytes: Int) throws(ManifestError) {
        urlBytes += bytes
        guard urlBytes <= limits.maxURLBytes else { throw .tooLarge(limit: limits.maxURLBytes) }
    }
}
