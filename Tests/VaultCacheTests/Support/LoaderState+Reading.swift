import Testing
import VaultModel

@testable import VaultCache

extension LoaderState {
    /// Returns a state that knows a representation of `length` bytes, with one reader of all of it, at byte 0.
    static func reading(_ length: Int64 = 10_000_000, now: ContinuousClock.Instant) -> (
        LoaderState, ReaderState.ID, FetchState.ID
    ) {
        var state = LoaderState(mode: .online)
        _ = state.learn(
            ContentInformation(
                length: length, type: nil, validators: Validators(entityTag: EntityTag(strong: "1")),
                supportsRanges: true))
        let reader = state.addReader(0..<length)
        guard case (.fetch(let fetch), _) = state.step(reader, now: now) else {
            Issue.record("a reader of a gap must start a fetch")
            return (state, reader, 0)
        }
        _ = state.accept(fetch, end: length, fromZero: false)
        return (state, reader, fetch)
    }
}
