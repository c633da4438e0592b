package import MediaVault

/// A resource as `/api/v1/resources` and `list --json` tell it.
package struct ListedDocument: Codable, Sendable {
    package let url: String
    package let size: OrNull<Int64>
    package let bytes: Int64
    package let `class`: String
    package let type: OrNull<String>
    package let complete: Bool

    package init(_ summary: ResourceSummary) {
        url = summary.url
        size = OrNull(summary.size)
        bytes = summary.bytes
        `class` = summary.resourceClass
        type = OrNull(summary.type)
        complete = summary.isComplete
    }
}
