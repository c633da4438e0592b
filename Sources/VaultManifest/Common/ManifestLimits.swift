package import VaultModel

/// The limits that manifests must respect to be parsed.
package struct ManifestLimits: Hashable, Sendable {
    /// The maximum size of a manifest, in bytes.
    package var maxBytes = 32 << 20
    /// The maximum length of a line, in bytes.
    package var maxLineBytes = 64 << 10
    /// The maximum number of references.
    package var maxReferences = 250_000
    /// The maximum size of all resolved URLs together, in bytes. It is needed because a short reference may resolve
    /// against a long URL.
    package var maxURLBytes = 128 << 20
    /// The maximum depth of nested elements.
    package var maxDepth = 32
    /// The maximum number of elements in an XML document.
    package var maxElements = 300_000
    /// The maximum number of attributes of one element, limited because the parser compares each with all before it.
    package var maxAttributes = 64
    /// The maximum number of namespaces in scope at one place, limited because the parser searches them for each
    /// prefix.
    package var maxNamespaces = 64

    /// The limits that the vault uses.
    package static let standard = ManifestLimits()

    /// Creates the limits that the vault uses. Tests reduce them.
    package init() {}
}

/// Counts a manifest's references against the limits.
package struct ManifestBudget: Sendable {
    private let limits: ManifestLimits
    private var references = 0
    private var urlBytes = 0

    /// Creates an unspent budget.
    package init(_ limits: ManifestLimits) { self.limits = limits }

    /// Counts one more reference that a player would request.
    ///
    /// - Throws: ``ManifestError/tooManyReferences(limit:)``, or ``ManifestError/tooLarge(limit:)`` if the URLs are too
    ///   long.
    package mutating func spend(on url: MediaURL) throws(ManifestError) {
        try spendOne()
        try spend(bytes: url.path.utf8.count + (url.query?.utf8.count ?? 0))
    }

    /// Counts some other item that occupies memory for as long as the manifest is in use.
    package mutating func spendOne() throws(ManifestError) {
        references += 1
        guard references <= limits.maxReferences else { throw .tooManyReferences(limit: limits.maxReferences) }
    }

    /// Counts the bytes of text that is longer than in the manifest's source.
    package mutating func spend(bytes: Int) throws(ManifestError) {
        urlBytes += bytes
        guard urlBytes <= limits.maxURLBytes else { throw .tooLarge(limit: limits.maxURLBytes) }
    }
}
