/// Limits on a vault's disk space, and on how long titles are kept that were played but not downloaded.
///
/// ``maxSize`` and ``minFree`` are in bytes, ``maxAge`` is in seconds. 0 means no limit. Nil also means no limit,
/// except for ``minFree``, where it means ``standardFree(ofDisk:)``.
public struct StorageLimits: Hashable, Sendable {
    /// The maximum total size of sealed segment files, in bytes; the index is not counted.
    public var maxSize: Int64?
    /// How long, in seconds, a title that was played but not downloaded is kept after it was last read.
    ///
    /// Last-access times are recorded to the hour.
    public var maxAge: Int64?
    /// The number of bytes that the vault leaves free on its file system; nil means ``standardFree(ofDisk:)``.
    public var minFree: Int64?
    /// Whether downloaded titles may be evicted to stay within ``maxSize``; nil means no.
    public var evictsDownloads: Bool?

    /// Creates limits; an omitted limit is not set.
    public init(
        maxSize: Int64? = nil, maxAge: Int64? = nil, minFree: Int64? = nil, evictsDownloads: Bool? = nil
    ) {
        self.maxSize = maxSize
        self.maxAge = maxAge
        self.minFree = minFree
        self.evictsDownloads = evictsDownloads
    }

    /// Returns the number of bytes to leave free if ``minFree`` is not set: 5 % of the disk, at most 10 GiB.
    public static func standardFree(ofDisk bytes: Int64) -> Int64 { min(max(0, bytes) / 20, 10 << 30) }

    /// The size limit in bytes, or nil if there is none.
    package var size: Int64? { maxSize.flatMap { $0 > 0 ? $0 : nil } }

    /// The age limit in seconds, or nil if there is none.
    package var age: Int64? { maxAge.flatMap { $0 > 0 ? $0 : nil } }

    /// The number of bytes to leave free, or 0 if ``minFree`` is not set.
    package var free: Int64 { max(0, minFree ?? 0) }

    /// Returns these limits, with each unset one taken from `others`; 0 counts as set and means no limit.
    package func over(_ others: StorageLimits) -> StorageLimits {
        StorageLimits(
            maxSize: maxSize ?? others.maxSize, maxAge: maxAge ?? others.maxAge,
            minFree: minFree ?? others.minFree, evictsDownloads: evictsDownloads ?? others.evictsDownloads)
    }
}
