import VaultCrypto
package import VaultModel
package import VaultStorage

extension VaultStore {
    /// Adds a resource with a representation of the given length.
    package func addMedia(
        _ name: String, length: Int64?, supportsRanges: Bool = true, resourceClass: ResourceClass = .cache
    ) throws -> StoredResource {
        let url = "http://origin.example/\(name)"
        let cacheKey = Array(url.utf8)
        guard let id = keyring.resourceID(cacheKey: cacheKey, locator: index.locator) else {
            throw VaultError(.foreignKeyring, "the test's keyring lacks its locator")
        }
        let information = ContentInformation(
            length: length, type: "video/mp4", validators: Validators(entityTag: EntityTag(strong: name)),
            supportsRanges: supportsRanges)
        return try resources.add(
            id, url: url, cacheKey: cacheKey, resourceClass: resourceClass, beginning: NewRepresentation(information))
    }

    /// Writes one closed segment.
    package func store(_ bytes: [UInt8], at start: Int64, of resource: StoredResource) throws -> SegmentDescription? {
        var writer = try segments.begin(at: start, of: resource)
        try writer.append(bytes[...])
        return try segments.close(writer)
    }

    /// Returns the bytes that a reader gets of everything that the index lists for a resource, by the first offset of
    /// each run of good blocks.
    package func read(_ resource: StoredResource) throws -> [(start: Int64, bytes: [UInt8])] {
        guard let serving = resource.serving else { return [] }
        var runs: [(start: Int64, bytes: [UInt8])] = []
        for segment in serving.segments {
            let reader = try segments.reader(of: segment, resource: resource)
            for range in segment.effectiveRanges(badBlocks: serving.badBlocks[segment.id] ?? [], within: serving.window)
                .ranges
            {
                runs.append((range.lowerBound, try reader.bytes(range, of: segment)))
            }
        }
        return runs
    }
}
