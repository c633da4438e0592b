package import MediaVault

/// How far a reseal is.
package struct ResealStep: Codable, Sendable {
    package let bytes: Int64
    package let bytesTotal: Int64
    package let resources: Int
    package let resourcesTotal: Int

    package init(_ progress: ResealProgress) {
        bytes = progress.bytes
        bytesTotal = progress.bytesTotal
        resources = progress.resources
        resourcesTotal = progress.resourcesTotal
    }
}
