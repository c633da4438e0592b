package import VaultModel
import VaultStorage

/// A few bytes of media that are held, fresh, and opened without waiting for anything.
package struct HeldMedia {
    /// Length, type, validators and range support of the representation.
    package let information: ContentInformation
    /// The vault's own name for the representation.
    package let entityTag: EntityTag
    /// The bytes; there is one at least.
    package let range: ByteRange

    private let segment: SegmentDescription
    private let reader: SegmentReader
    private let whenGiven: () -> Void

    init(
        _ held: LoaderState.Held, _ reader: SegmentReader, entityTag: EntityTag, whenGiven: @escaping () -> Void
    ) {
        information = held.information
        self.entityTag = entityTag
        range = held.range
        segment = held.segment
        self.reader = reader
        self.whenGiven = whenGiven
    }

    /// How many bytes there are.
    package var count: Int { Int(range.length) }

    /// Opens them into a place for as many.
    ///
    /// - Returns: false where the disk would have to be waited for, or a block does not open: then the place holds nothing
    ///   of use, and a reader has to find out.
    package func open(into place: UnsafeMutableRawBufferPointer) -> Bool {
        // The place is the caller's own, with its length.
        guard let isOpen = try? unsafe reader.open(range, of: segment, into: place, mayWait: false), isOpen else {
            return false
        }
        whenGiven()
        return true
    }
}
