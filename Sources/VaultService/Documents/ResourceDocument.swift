package import MediaVault

/// A resource as `/api/v1/resource` and `info --json` tell it.
package struct ResourceDocument: Codable, Sendable {
    package let url: String
    package let size: OrNull<Int64>
    /// First byte and one past the last, of each run that is held.
    package let held: [[Int64]]
    package let bytes: Int64
    package let type: OrNull<String>
    package let etag: OrNull<String>
    package let `class`: String
    package let generation: Int
    /// The mode that it has for itself; null where it has the vault's.
    package let mode: OrNull<String>

    package init(_ summary: ResourceSummary) {
        url = summary.url
        size = OrNull(summary.size)
        held = summary.held.map { [$0.lowerBound, $0.upperBound] }
        bytes = summary.bytes
        type = OrNull(summary.type)
        etag = OrNull(summary.etag)
        `class` = summary.resourceClass
        generation = summary.generation
        mode = OrNull(summary.mode?.rawValue)
    }

    /// Whether every byte is held.
    package var isComplete: Bool { size.value == bytes }
}
