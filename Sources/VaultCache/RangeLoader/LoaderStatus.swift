import VaultFetch
import VaultManifest
package import VaultModel
import VaultStorage

/// What a loader knows about its resource at one moment.
package struct LoaderStatus: Sendable {
    /// The length, type, validators and range support; nil if nothing is known yet.
    package let information: ContentInformation?
    package let freshness: Freshness?
    /// The mode in force.
    package let mode: VaultMode
    package let isPinned: Bool
    package let hasReaders: Bool
    /// The bytes that are written.
    private let covered: ByteRanges

    init(_ state: LoaderState) {
        (information, freshness, covered) = (state.known.information, state.known.freshness, state.known.map.covered)
        (mode, isPinned, hasReaders) = (state.mode, state.known.isPinned, !state.readers.isEmpty)
    }

    /// Whether every byte is held.
    package var isHeldWhole: Bool { information?.isWhole(in: covered) ?? false }
}

extension ContentInformation {
    /// Returns whether the length is known, and these ranges have all bytes.
    func isWhole(in ranges: ByteRanges) -> Bool { length.map { ranges.gaps(in: 0..<$0).isEmpty } ?? false }
}

// What is known of the resource, by the loader's state and by what tells its versions apart.
extension ResourceLoader {
    /// The mode in force.
    package var mode: VaultMode { look(\.mode) }

    /// Whether the mode forbids requests to the origin.
    package var isOffline: Bool { look { !$0.mode.allowsRequests } }

    /// What the loader knows at this moment.
    package var status: LoaderStatus { look { LoaderStatus($0) } }

    /// The length, type, validators and range support; nil if nothing is known yet.
    package var information: ContentInformation? { look(\.known.information) }

    /// The number of first bytes that are present, whether they are sealed already or not.
    package var beginning: Int64 { look { $0.present.run(at: 0)?.upperBound ?? 0 } }

    /// The content information of the representation being read, without its entity tag if entity tags are ignored.
    package var known: ContentInformation? {
        look { state in
            guard var information = state.known.information else { return nil }
            if versions.ignoresTags(state.known.entityTags) {
                information.validators = information.validators.withoutTag
            }
            return information
        }
    }

    /// Whether the resource is a manifest that is completely held. It counts as a manifest if its type or path says so,
    /// or if it has the record of a title.
    var holdsManifest: Bool {
        let (isWhole, type) = look { ($0.known.isHeldWhole, $0.known.information?.type) }
        return isWhole && (record.title != nil || ManifestDetection.kind(type: type, path: url.path) != nil)
    }

    /// Whether one connection alone must fill the representation when more of it is requested now.
    var isBound: Bool {
        let url = origin.urls.current.url
        return look { versions.isBound($0.known.information, $0.known.entityTags, at: url) }
    }

    /// Returns the vault's entity tag for a representation.
    ///
    /// The tag is weak if no validator distinguishes the representation from another version.
    func name(_ entityTag: EntityTag, of information: ContentInformation) -> EntityTag {
        let url = origin.urls.current.url
        let isBound = look { versions.isBound(information, $0.known.entityTags, at: url) }
        return isBound ? EntityTag(weak: entityTag.opaque) : entityTag
    }

    /// Returns a new answer's head, with a date in any case, and without its entity tag if entity tags are ignored.
    package func heard(_ head: OriginHead) -> OriginHead {
        let dated = head.dated(store.index.now())
        return look { versions.ignoresTags($0.known.entityTags) } ? dated.withoutEntityTag : dated
    }

    /// The check of the known representation with its origin.
    package var check: RepresentationCheck { RepresentationCheck(loader: self) }
}
