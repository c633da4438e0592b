import MediaVault

/// A resource as `info --json` prints it.
struct ResourceRecord: Encodable, Sendable {
    let url: String
    let size: OrNull<Int64>
    /// First byte and one past the last, of each run that is held.
    let held: [[Int64]]
    let bytes: Int64
    let type: OrNull<String>
    let etag: OrNull<String>
    let `class`: String
    let generation: Int

    init(_ summary: ResourceSummary) {
        url = summary.url
        size = OrNull(summary.size)
        held = summary.held.map { [$0.lowerBound, $0.upperBound] }
        bytes = summary.bytes
        type = OrNull(summary.type)
        etag = OrNull(summary.etag)
        `class` = summary.resourceClass
        generation = summary.generation
    }
}
