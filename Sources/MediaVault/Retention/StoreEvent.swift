/// What becomes of bytes that come from origins.
public enum StoreEvent: Hashable, Sendable {
    /// From now on some are handed on without being stored: why, and in a sentence.
    case passingThrough(StoreRefusal, String)
    /// All are stored again; so many bytes went by meanwhile.
    case storing(passedThrough: Int64)
}
