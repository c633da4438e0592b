/// What becomes of bytes that come from origins, and of those that are held.
public enum StoreEvent: Hashable, Sendable {
    /// From now on some are handed on without being stored: why, and in a sentence.
    case passingThrough(StoreRefusal, String)
    /// All are stored again; so many bytes went by meanwhile.
    case storing(passedThrough: Int64)
    /// Room was made, or a limit kept to: titles that went whole, segment files, and their bytes.
    case evicted(titles: Int, segments: Int, bytes: Int64)
}
