package import VaultCrypto
package import VaultModel

/// How long the vault keeps a resource's bytes when room is short.
package enum ResourceClass: String, Sendable {
    /// For ever.
    case pinned
    /// Asked for by name: after everything that is merely cache.
    case download
    /// Kept because it was played.
    case cache
}

/// A resource as the index knows it, its keys unwrapped and its metadata opened.
package struct StoredResource: Sendable {
    package let id: ResourceID
    package var metadata: ResourceMetadata
    package let resourceClass: ResourceClass
    /// The key that metadata and new segments are sealed under.
    package let keyNumber: Int
    /// Every key of the resource by its number: one, or two while it is resealed.
    package let keys: [Int: SharedKey]
    /// The generation that wraps the key in use.
    package let generation: Int
    /// Hours since 1970 in seconds: when it was last read, rounded down.
    package let accessed: Int64
    /// The representation that is read, where there is one.
    package var serving: StoredRepresentation?
}

extension StoredResource {
    /// The same resource with what is read of it.
    func serving(_ representation: StoredRepresentation?) -> StoredResource {
        var resource = self
        resource.serving = representation
        return resource
    }

    /// Whether a segment can be one of the resource: none is that was sealed under a key that is gone.
    package func mayHold(_ segment: SegmentDescription) -> Bool {
        segment.keyNumber >= keyNumber || keys[segment.keyNumber] != nil
    }

    /// The same resource with one of its keys alone.
    func keeping(key number: Int) -> StoredResource {
        StoredResource(
            id: id, metadata: metadata, resourceClass: resourceClass, keyNumber: number,
            keys: keys.filter { $0.key == number }, generation: generation, accessed: accessed, serving: serving)
    }
}

/// A representation as the index knows it.
package struct StoredRepresentation: Sendable {
    package let id: RepresentationID
    package var info: RepresentationInfo
    /// Its segments in ascending order of their first byte.
    package var segments: [SegmentDescription]
    /// Blocks that failed their tag and are gaps.
    package var badBlocks: [SegmentID: Set<Int>]

    /// The bytes that the index claims.
    package var held: ByteRanges {
        segments.reduce(into: ByteRanges()) { $0.formUnion($1.effectiveRanges(badBlocks: badBlocks[$1.id] ?? [])) }
    }
}

extension SegmentDescription {
    /// The bytes of the segment that are still good: its range without its bad blocks.
    package func effectiveRanges(badBlocks: Set<Int>) -> ByteRanges {
        var ranges = ByteRanges(range)
        for block in badBlocks where (0..<blockCount).contains(block) {
            ranges.remove(contentsOf: range(ofBlock: block))
        }
        return ranges
    }
}
