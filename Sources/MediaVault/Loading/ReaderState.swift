import VaultModel

/// One reader of a resource as the loader sees it.
struct ReaderState {
    /// Names one reader of a loader.
    typealias ID = Int

    /// Which representation it reads: they are counted.
    var edition: Int
    /// The next byte it wants.
    var position: Int64
    /// One past the last byte it wants; `Int64.max` while the length is unknown.
    var end: Int64
    /// Whether what it causes to be fetched must be of the representation that is read: another one begins nothing.
    var keepsRepresentation = false
    /// The fetch it takes bytes from, whose transfer lives as long as somebody does.
    var fetch: FetchState.ID?
    /// What the last fetch it waited for ended with.
    var failure: FetchFailure?
    var signal = Signal()
}
