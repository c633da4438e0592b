import MediaVault

/// A resource as `list --json` prints it.
struct ListedRecord: Encodable, Sendable {
    let url: String
    let size: OrNull<Int64>
    let bytes: Int64
    let `class`: String
    let type: OrNull<String>
    let complete: Bool

    init(_ summary: ResourceSummary) {
        url = summary.url
        size = OrNull(summary.size)
        bytes = summary.bytes
        `class` = summary.resourceClass
        type = OrNull(summary.type)
        complete = summary.isComplete
    }
}
