package import VaultCrypto
package import VaultModel

/// How long the vault keeps a resource's bytes when space is short.
package enum ResourceClass: String, Sendable {
    /// The resource is never evicted.
    case pinned
    /// The resource was requested by name, so it is evicted only after everything that is merely cached.
    case download
    /// The resource is kept only because it was played.
    case cache
}

/// A resource from the index, with its keys unwrapped and its metadata opened.
package struct StoredResource: Sendable {
    package let id: ResourceID
    package var metadata: ResourceMetadata
    package var resourceClass: ResourceClass
    /// The number of the key under which the metadata and new segments are sealed.
    package let keyNumber: Int
    /// The resource's keys by their numbers. There is one, or several during a reseal.
    package let keys: [Int: SharedKey]
    /// The generation that wraps the key in use.
    package let generation: Int
    /// The beginning of the hour in which the resource was last read, in seconds since 1970.
    package let accessed: Int64
    /// The representation from which the resource is read, if there is one.
    package var serving: StoredRepresentation?
    /// Where the resource's bytes are in a pack; nil if it has rows and segments of its own.
    package var place: PackPlace?
}

extension StoredResource {
    /// The title id that people use for the resource; nil for a file in a pack.
    package var titleID: TitleID? { place == nil ? metadata.keptID ?? TitleID(of: id) : nil }

    /// Whether the row of the serving representation is missing, so that none of the resource counts as held.
    package var lacksServing: Bool { place == nil && metadata.serving != nil && serving == nil }

    /// Returns the same resource with another serving representation.
    func serving(_ representation: StoredRepresentation?) -> StoredResource {
        var resource = self
        resource.serving = representation
        return resource
    }

    /// Whether every byte of the resource is held, according to the index.
    package var isWhole: Bool {
        guard let serving, let length = serving.info.information.length else { return false }
        return serving.held.gaps(in: 0..<length).isEmpty
    }

    /// Returns the key under which the resource's metadata and the information about its representations are sealed.
    func metadataKey() throws -> SecretKey {
        guard let key = keys[keyNumber] else { throw IndexError.damaged }
        return try KeyDerivation.key(from: key.secret, .metadata)
    }

    /// Returns whether a segment can belong to the resource. A segment that was sealed under a removed key cannot.
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

/// A new representation, no bytes of which are held yet.
package struct NewRepresentation: Sendable {
    package let information: ContentInformation
    package let freshness: Freshness?
    /// The id under which the representation is already being read; nil to assign an id.
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
    /// The representation's segments, in ascending order of their first byte.
    package var segments: [SegmentDescription]
    /// The blocks whose tag check failed, by segment. They are gaps.
    package var badBlocks: [SegmentID: Set<Int>]
    /// The bytes that belong to the representation. For a part, they exclude the other bytes in its pack's segments.
    package var window: ByteRange = 0..<ContentInformation.maxBytes

    /// The bytes that are held according to the index.
    package var held: ByteRanges {
        segments.reduce(into: ByteRanges()) {
            $0.formUnion($1.effectiveRanges(badBlocks: badBlocks[$1.id] ?? [], within: window))
        }
    }
}

extension StoredRepresentation {
    /// Creates a new representation, with a random id unless it already has an id.
    init(_ new: NewRepresentation, sequence: Int64, now: Int64) throws {
        let info = RepresentationInfo(
            sequence: sequence, information: new.information, retrieved: now, freshness: new.freshness)
        self.init(
            id: try new.id ?? SecureRandom.identifier("representation id"), info: info, segments: [], badBlocks: [:])
    }
}

/// The place of a part in a pack, whose segments hold the bytes of many parts.
///
/// A part has its own offsets, which start at 0. Its segments are shifted to these offsets when the part's rows are
/// read, and each is shifted back when it is opened or written.
package struct PackPlace: Hashable, Sendable {
    package let pack: ResourceID
    /// The pack's representation.
    let representation: RepresentationID
    /// The part's own id for its version.
    let version: RepresentationID
    /// The offset of the part's first byte in the pack.
    package let offset: Int64

    /// Returns a segment of the pack, shifted to the part's offsets.
    package func moved(_ segment: SegmentDescription) -> SegmentDescription {
        segment.moved(by: -offset, of: version)
    }

    /// Returns the same segment, shifted back to the pack's offsets, as it is in the index and in its file.
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
    /// - Parameter window: the range outside which bytes are left out.
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
