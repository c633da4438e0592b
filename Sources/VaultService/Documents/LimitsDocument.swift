import MediaVault

/// Limits of room: sizes and seconds; one that is left out is not meant, and 0 is no limit.
package struct LimitsDocument: Codable, Hashable, Sendable {
    package var maxSize: SizeText?
    package var maxAge: Int64?
    package var minFree: SizeText?
    /// Whether the size may cost titles that were fetched by name.
    package var evictDownloads: Bool?
    /// Whether it is only told what would go.
    package var dryRun: Bool?

    package init(
        maxSize: SizeText? = nil, maxAge: Int64? = nil, minFree: SizeText? = nil, evictDownloads: Bool? = nil,
        dryRun: Bool? = nil
    ) {
        self.maxSize = maxSize
        self.maxAge = maxAge
        self.minFree = minFree
        self.evictDownloads = evictDownloads
        self.dryRun = dryRun
    }

    /// Whether it names any.
    var namesAny: Bool { maxSize != nil || maxAge != nil || minFree != nil || evictDownloads != nil }

    /// - Throws: ``VaultError`` with code `invalidArgument` where one is no limit.
    func check() throws {
        guard (0...ContentInformation.mostBytes).contains(maxAge ?? 0), maxSize != .standard else {
            throw VaultError(.invalidArgument, "a limit is 0, which is none, or more than 0; correct it")
        }
    }

    /// The limits it names in place of those it is laid over.
    func laid(over limits: RoomLimits = RoomLimits()) -> RoomLimits {
        RoomLimits(
            maxSize: maxSize?.bytes ?? limits.maxSize, maxAge: maxAge ?? limits.maxAge,
            minFree: minFree.map(\.bytes) ?? limits.minFree, evictsDownloads: evictDownloads ?? limits.evictsDownloads)
    }
}
