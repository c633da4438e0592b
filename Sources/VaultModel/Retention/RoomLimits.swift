/// How much room a vault takes, and for how long it keeps what was merely played.
///
/// Three limits in two units: ``maxSize`` and ``minFree`` are bytes, ``maxAge`` is seconds. Nothing said, and 0, is no
/// limit.
public struct RoomLimits: Hashable, Sendable {
    /// The most bytes of sealed segment files; the index comes on top.
    public var maxSize: Int64?
    /// How many seconds after it was last read a title that was merely played goes, to the hour.
    public var maxAge: Int64?
    /// The bytes that the vault leaves free on its file system.
    public var minFree: Int64

    /// Limits; those not named are none.
    public init(maxSize: Int64? = nil, maxAge: Int64? = nil, minFree: Int64 = 0) {
        self.maxSize = maxSize
        self.maxAge = maxAge
        self.minFree = minFree
    }

    /// The limit in bytes, where there is one.
    package var size: Int64? { maxSize.flatMap { $0 > 0 ? $0 : nil } }

    /// The limit in seconds, where there is one.
    package var age: Int64? { maxAge.flatMap { $0 > 0 ? $0 : nil } }

    /// The bytes to leave free.
    package var free: Int64 { max(0, minFree) }

    /// These limits where they say something, else the others: 0 says that there is none.
    package func over(_ others: RoomLimits) -> RoomLimits {
        RoomLimits(
            maxSize: maxSize ?? others.maxSize, maxAge: maxAge ?? others.maxAge,
            minFree: minFree != 0 ? minFree : others.minFree)
    }
}
