import VaultModel

/// What opening a resource found: all that an answer's head needs.
struct Opening {
    let reader: ReaderState.ID
    let information: ContentInformation
    let entityTag: EntityTag
    let range: ByteRange?
    let isWholeAnswer: Bool
    let isShortened: Bool
    /// Whether the origin was found to be out of reach: nobody waits for it at a hole.
    let isCutOff: Bool
    let source: MediaReader.Source
    let inquiry: Inquiry
}

extension Opening {
    /// Everything asked for is held.
    init(_ held: LoaderState.Held, reader: ReaderState.ID, entityTag: EntityTag) {
        self.init(
            reader: reader, information: held.information, entityTag: entityTag, range: held.range,
            isWholeAnswer: false,
            isShortened: false, isCutOff: false, source: .held, inquiry: Inquiry())
    }
}
