package import VaultModel
import VaultStorage

/// A short range of held, fresh bytes that can be opened without waiting.
package struct HeldMedia {
    /// Length, type, validators and range support of the representation.
    package let information: ContentInformation
    /// The vault's own entity tag for the representation.
    package let entityTag: EntityTag
    /// The range of the bytes; it is not empty.
    package let range: ByteRange

    private let segment: SegmentDescription
    private let reader: SegmentReader
    private let onOpen: () -> Void

    init(
        _ held: LoaderState.Held, _ reader: SegmentReader, entityTag: EntityTag, onOpen: @escaping () -> Void
    ) {
        information = held.information
        self.entityTag = entityTag
        range = held.range
        segment = held.segment
        self.reader = reader
        self.onOpen = onOpen
    }

    /// The number of bytes.
    package var count: Int { Int(range.length) }

    /// Opens the bytes into a buffer of the same size.
    ///
    /// - Returns: false if the disk would have to be waited for, or a block does not open. The buffer then holds
    ///   nothing of use, and a reader has to find out why.
    package func open(into place: UnsafeMutableRawBufferPointer) -> Bool {
        // The buffer belongs to the caller, and has its own length.
        guard let isOpen = try? unsafe reader.open(range, of: segment, into: place, mayWait: false), isOpen else {
            return false
        }
        onOpen()
        return true
    }
}
