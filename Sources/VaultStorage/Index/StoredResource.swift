package import VaultCrypto
package import VaultModel

/// How long the vault keeps a resource's bytes when space is short.
package enum ResourceClass: String, Sendable {
    /// Never evicted.
    case pinned
    /// Requested by name: evicted only after everything that is merely cached.
    case download
    /// Kept because it was played.
    case cache
}

/// A resource from the index, with its keys unwrapped and its metadata opened.
package struct StoredResource: Sendable {
    package let id: ResourceID
    package var metadata: ResourceMetadata
    package var resourceClass: ResourceClass
    /// The number of the key that seals metadata and new segments.
    package let keyNumber: Int
    /// Every key of the resource by its number: one, or several during a reseal.
    package let keys: [Int: SharedKey]
    /// The generation that wraps the key in use.
    package let generation: Int
    /// The hour in which it was last read, in seconds since 1970, rounded down.
    package let accessed: Int64
    /// The representation that is read, if there is one.
    package var serving: StoredRepresentation?
    /// Where its bytes are in a pack; nil if it has its own rows and segments.
    package var place: PackPlace?
}

extension StoredResource {
    /// The id that people use; nil for a file in a pack.
    package var titleID: TitleID? { place == nil ? metadata.keptID ?? TitleID(of: id) : nil }

    /// Whether the row of the representation that is read is missing, so that nothing of it counts as held.
    package var lacksServing: Bool { place == nil && metadata.serving != nil && serving == nil }

    /// Returns the same resource with another serving representation.
    func serving(_ representation: StoredRepresentation?) -> StoredResource {
        var resource = self
        resource.serving = representation
        return resource
    }

    /// Whether every byte of it is held, according to the index.
    package var isWhole: Bool {
        guard let serving, let length = serving.info.information.length else { return false }
        return serving.held.gaps(in: 0..<length).isEmpty
    }

    /// Returns the key that seals the resource's metadata and the information on its representations.
    func metadataKey() throws -> SecretKey {
        guard let key = keys[keyNumber] else { throw IndexError.damaged }
        return try KeyDerivation.key(from: key.secret, .metadata)
    }

    /// Returns whether a segment can belong to the resource, as one sealed under a removed key cannot.
    package func mayHold(_ segment: SegmentDescription) -> Bool {
        segment.keyNumber >= keyNumber || keys[segment.keyNumber] != nil
    }

    /// Returns the same resource with only one of its keys.
    func keeping(key number: Int) -> StoredResource {
        StoredResource(
            id: id, metadata: metadata, resourceClass: resourceClass, keyNumber: number,
            keys: keys.filter { $0.key == number }, generation: generation, accessed: accessed, serving: serving)
    }
}

/// A new representation, of which nothing is held yet.
package struct NewRepresentation: Sendable {
    package let information: ContentInformation
    package let freshness: Freshness?
    /// The id under which it is already being read; nil to assign one.
    package let id: RepresentationID?

    package init(_ information: ContentInformation, freshness: Freshness? = nil, id: RepresentationID? = nil) {
        self.information = information
        self.freshness = freshness
        self.id = id
    }
}

/// A representation from the index.
package struct StoredRepresentation: Sendable {
    package let id: RepresentationID
    package var info: RepresentationInfo
    /// Its segments in ascending order of their first byte.
    package var segments: [SegmentDescription]
    /// Blocks whose tag failed; they are gaps.
    package var badBlocks: [SegmentID: Set<Int>]
    /// The bytes that belong to it: a part has only these of the bytes in its pack's segments.
    package var window: ByteRange = 0..<ContentInformation.maxBytes

    /// The bytes that are held according to the index.
    package var held: ByteRanges {
        segments.reduce(into: ByteRanges()) {
            $0.formUnion($1.effectiveRanges(badBlocks: badBlocks[$1.id] ?? [], within: window))
        }
    }
}

extension StoredRepresentation {
    /// Creates a new representation, with a random id unless it has one.
    init(_ new: NewRepresentation, sequence: Int64, now: Int64) throws {
        let info = RepresentationInfo(
            sequence: sequence, information: new.information, retrieved: now, freshness: new.freshness)
        self.init(
            id: try new.id ?? SecureRandom.identifier("representation id"), info: info, segments: [], badBlocks: [:])
    }
}

/// The place of a part in a pack, whose segments hold the bytes of many parts.
///
/// A part has its own offsets, which begin with 0. Its segments are shifted to these offsets when its rows are read,
/// and shifted back when one is opened or written.
package struct PackPlace: Hashable, Sendable {
    package let pack: ResourceID
    /// The representation of the pack.
    let representation: RepresentationID
    /// The part's own name for its version.
    let version: RepresentationID
    /// The offset of the part's first byte in the pack.
    package let offset: Int64

    /// Returns a segment of the pack, in the part's offsets.
    package func moved(_ segment: SegmentDescription) -> SegmentDescription {
        segment.moved(by: -offset, of: version)
    }

    /// Returns the same segment in the pack's offsets, as the index and its file have it.
    func restored(_ segment: SegmentDescription) -> SegmentDescription {
        segment.moved(by: offset, of: representation)
    }
}

extension SegmentDescription {
    fileprivate func moved(by distance: Int64, of representation: RepresentationID) -> SegmentDescription {
        SegmentDescription(
            id: id, representation: representation, keyNumber: keyNumber, blockSize: blockSize,
            start: start + distance, length: length)
    }
}

extension SegmentDescription {
    /// Returns the segment's range without its bad blocks.
    ///
    /// - Parameter window: the bytes that count.
    package func effectiveRanges(
        badBlocks: Set<Int>, within window: ByteRange = 0..<ContentInformation.maxBytes
    ) -> ByteRanges {
        var ranges = ByteRanges(range.clamped(to: window))
        for block in badBlocks where (0..<blockCount).contains(block) {
            ranges.remove(contentsOf: range(ofBlock: block))
        }
        return ranges
    }
}
