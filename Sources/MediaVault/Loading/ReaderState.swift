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
    /// Whether it takes its bytes from one fetch alone, which is apart from the representation.
    var isApart = false
    /// What the last fetch it waited for ended with.
    var failure: FetchFailure?
    /// How long it waits for a byte that an origin does not give; nothing before it has begun.
    var patience: Duration = .zero
    /// The same before it has begun, where the connection fails of an origin that answered lately.
    var openingPatience: Duration = .zero
    /// Whether its answer promised all there is, without a range.
    var isWhole = false
    /// Until when it waits, before it has begun, for an origin that is busy for a moment; in the past where it has waited.
    var busyUntil: ContinuousClock.Instant?
    /// Since when it waits for one; nil while all is well.
    var troubledSince: ContinuousClock.Instant?
    /// Where the bytes it has had came from, and where those come from that it has now.
    var trace = ByteTrace()
    var source = ByteTrace.Source.vault
    /// Whether its answer has begun: what it gives from then on must be of one version.
    var hasBegun = false
    /// Whether what it has now came from an answer that gave next to nothing: that ends no trouble.
    var takesCrumbs = false
    /// Whether it fills the vault and answers nobody.
    var isFilling = false
    var signal = Signal()

    /// It has had bytes up to `position`.
    mutating func advance(to position: Int64) {
        trace.note(self.position..<max(self.position, position), source)
        hasBegun = hasBegun || position > self.position
        self.position = position
        if !takesCrumbs { troubledSince = nil }
    }
}
