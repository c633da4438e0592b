import VaultModel

/// The loader's view of one reader of a resource.
struct ReaderState {
    /// Identifies a reader within its loader.
    typealias ID = Int

    let id: ID
    /// The edition of the representation that the reader reads.
    var edition: Int
    /// The offset of the next byte that the reader wants.
    var position: Int64
    /// One past the last byte that the reader wants; `Int64.max` while the end is unknown.
    var end: Int64
    /// Whether the reader's fetches must bring the representation being read, so that an answer with another one is an
    /// error.
    var keepsRepresentation = false
    /// The fetch that the reader takes bytes from. A transfer lives as long as a reader needs it.
    var fetch: FetchState.ID?
    /// Whether the reader takes all its bytes from one fetch, separately from the representation.
    var isSeparate = false
    /// Why the last fetch that the reader waited for failed; nil if it did not.
    var failure: FetchFailure?
    /// How long the reader waits for a byte while the origin is failing; zero before its answer has begun.
    var patience: Duration = .zero
    /// How long the reader waits before its answer has begun, while connections to a recently reachable origin fail.
    var openingTimeLimit: Duration = .zero
    /// Whether the answer to the reader's client promised the whole resource rather than a range.
    var isWhole = false
    /// When the reader, whose answer has not begun, stops waiting for a briefly busy origin; in the past once it has
    /// waited.
    var busyUntil: ContinuousClock.Instant?
    /// When the reader began to wait for a failing origin; nil if it is not waiting.
    var failingSince: ContinuousClock.Instant?
    /// Where the bytes that the reader has received came from. `source` is where its current bytes come from.
    var trace = ByteTrace()
    var source = ByteTrace.Source.vault
    /// Whether the reader's answer has begun. From then on, all its bytes must belong to one version.
    var hasBegun = false
    /// Whether the reader's current bytes came from a tiny answer, which does not show that the origin has recovered.
    var takesTinyAnswer = false
    /// Whether the reader fills the vault and answers no client.
    var isFilling = false
    var signal = WakeFlag()

    /// Records that the reader has received the bytes up to `position`.
    mutating func advance(to position: Int64) {
        trace.note(self.position..<max(self.position, position), source)
        hasBegun = hasBegun || position > self.position
        self.position = position
        if !takesTinyAnswer { failingSince = nil }
    }

    /// Makes the reader ask for its bytes by itself.
    mutating func separate() { (isSeparate, fetch) = (true, nil) }

    /// Whether the reader answers a client, and has received bytes.
    var isTraced: Bool { !isFilling && trace.bytes > 0 }
}
