package import VaultModel

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
    fileprivate let covered: ByteRanges

    /// Whether every byte is held.
    package var isHeldWhole: Bool { information?.isWhole(in: covered) ?? false }
}

extension ContentInformation {
    /// Returns whether the length is known, and these ranges have all bytes.
    func isWhole(in ranges: ByteRanges) -> Bool { length.map { ranges.gaps(in: 0..<$0).isEmpty } ?? false }
}

extension ResourceLoader {
    package var status: LoaderStatus {
        look { state in
            LoaderStatus(
                information: state.known.information, freshness: state.known.freshness, mode: state.mode,
                isPinned: state.known.isPinned, hasReaders: !state.readers.isEmpty, covered: state.known.map.covered)
        }
    }

    /// The length, type, validators and range support; nil if nothing is known yet.
    package var information: ContentInformation? { look(\.known.information) }

    /// The number of first bytes that are present, whether they are sealed already or not.
    package var beginning: Int64 { look { $0.present.run(at: 0)?.upperBound ?? 0 } }
}
