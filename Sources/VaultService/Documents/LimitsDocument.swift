package import MediaVault

/// Limits of room: bytes, seconds, bytes; one that is left out is not meant, and 0 is no limit.
package struct LimitsDocument: Codable, Hashable, Sendable {
    package var maxSize: Int64?
    package var maxAge: Int64?
    package var minFree: Int64?

    package init(maxSize: Int64? = nil, maxAge: Int64? = nil, minFree: Int64? = nil) {
        self.maxSize = maxSize
        self.maxAge = maxAge
        self.minFree = minFree
    }

    package init(_ limits: RoomLimits) {
        self.init(maxSize: limits.maxSize ?? 0, maxAge: limits.maxAge ?? 0, minFree: limits.minFree)
    }

    /// Whether it names any.
    var namesAny: Bool { maxSize != nil || maxAge != nil || minFree != nil }

    /// - Throws: ``VaultError`` with code `invalidArgument` where one is no limit.
    func check() throws {
        guard [maxSize, maxAge, minFree].allSatisfy({ (0...ContentInformation.mostBytes).contains($0 ?? 0) }) else {
            throw VaultError(.invalidArgument, "a limit is 0, which is none, or a number above it; correct it")
        }
    }

    /// The limits it names in place of those it is laid over.
    func laid(over limits: RoomLimits = RoomLimits()) -> RoomLimits {
        RoomLimits(
            maxSize: maxSize ?? limits.maxSize, maxAge: maxAge ?? limits.maxAge, minFree: minFree ?? limits.minFree)
    }
}
