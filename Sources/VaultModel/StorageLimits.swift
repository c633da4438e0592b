/// Limits on a vault's space, and on the age of titles that were only played.
///
/// ``maxSize`` and ``minFree`` are in bytes, ``maxAge`` is in seconds. 0 means no limit. So does nil, except for
/// ``minFree``, where it means ``standardFree(ofDisk:)``.
public struct StorageLimits: Hashable, Sendable {
    /// Maximum bytes of sealed segment files; the index is not counted.
    public var maxSize: Int64?
    /// The seconds after its last read at which a title that was played but not downloaded is evicted.
    ///
    /// Last-access times are kept to the hour.
    public var maxAge: Int64?
    /// The bytes that the vault leaves free on its file system; nil means ``standardFree(ofDisk:)``.
    public var minFree: Int64?
    /// Whether ``maxSize`` may evict downloaded titles; nil means no.
    public var evictsDownloads: Bool?

    /// Creates limits; omitted ones are not set.
    public init(
        maxSize: Int64? = nil, maxAge: Int64? = nil, minFree: Int64? = nil, evictsDownloads: Bool? = nil
    ) {
        self.maxSize = maxSize
        self.maxAge = maxAge
        self.minFree = minFree
        self.evictsDownloads = evictsDownloads
    }

    /// Returns the bytes to leave free if ``minFree`` is not set: 5 % of the disk, at most 10 GiB.
    public static func standardFree(ofDisk bytes: Int64) -> Int64 { min(max(0, bytes) / 20, 10 << 30) }

    /// The size limit in bytes, or nil if there is none.
    package var size: Int64? { maxSize.flatMap { $0 > 0 ? $0 : nil } }

    /// The age limit in seconds, or nil if there is none.
    package var age: Int64? { maxAge.flatMap { $0 > 0 ? $0 : nil } }

    /// The bytes to leave free, or 0 if ``minFree`` is not set.
    package var free: Int64 { max(0, minFree ?? 0) }

    /// Returns these limits, with unset ones taken from `others`; 0 counts as set and means no limit.
    package func over(_ others: StorageLimits) -> StorageLimits {
        StorageLimits(
            maxSize: maxSize ?? others.maxSize, maxAge: maxAge ?? others.maxAge,
            minFree: minFree ?? others.minFree, evictsDownloads: evictsDownloads ?? others.evictsDownloads)
    }
}
