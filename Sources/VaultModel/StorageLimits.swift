/// How much room a vault takes, and for how long it keeps what was merely played.
///
/// Three limits in two units: ``maxSize`` and ``minFree`` are bytes, ``maxAge`` is seconds. 0 is no limit. Nothing said
/// is none either, but for ``minFree``: then a part of the disk is left free, see ``standardFree(ofDisk:)``.
public struct StorageLimits: Hashable, Sendable {
    /// The most bytes of sealed segment files; the index comes on top.
    public var maxSize: Int64?
    /// How many seconds after it was last read a title that was merely played goes, to the hour.
    public var maxAge: Int64?
    /// The bytes that the vault leaves free on its file system; nil leaves ``standardFree(ofDisk:)``.
    public var minFree: Int64?
    /// Whether ``maxSize`` may cost titles that were fetched by name; nothing said is no.
    public var evictsDownloads: Bool?

    /// Limits; those not named are nothing said.
    public init(
        maxSize: Int64? = nil, maxAge: Int64? = nil, minFree: Int64? = nil, evictsDownloads: Bool? = nil
    ) {
        self.maxSize = maxSize
        self.maxAge = maxAge
        self.minFree = minFree
        self.evictsDownloads = evictsDownloads
    }

    /// What is left free of a disk of so many bytes where nothing is said: 5 % of it, 10 GiB at most.
    public static func standardFree(ofDisk bytes: Int64) -> Int64 { min(max(0, bytes) / 20, 10 << 30) }

    /// The limit in bytes, where there is one.
    package var size: Int64? { maxSize.flatMap { $0 > 0 ? $0 : nil } }

    /// The limit in seconds, where there is one.
    package var age: Int64? { maxAge.flatMap { $0 > 0 ? $0 : nil } }

    /// The bytes to leave free, as far as they are said.
    package var free: Int64 { max(0, minFree ?? 0) }

    /// These limits where they say something, else the others: 0 says that there is none.
    package func over(_ others: StorageLimits) -> StorageLimits {
        StorageLimits(
            maxSize: maxSize ?? others.maxSize, maxAge: maxAge ?? others.maxAge,
            minFree: minFree ?? others.minFree, evictsDownloads: evictsDownloads ?? others.evictsDownloads)
    }
}
