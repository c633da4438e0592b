/// What ``Vault/verify(_:)`` does.
public struct VerifyOptions: Hashable, Codable, Sendable {
    /// Whether what is damaged is fetched anew, and files that no row names are taken in or moved to quarantine. Only
    /// an owner can.
    public var repairs: Bool
    /// How many of a hundred segments are opened, chosen by chance; nil is all of them.
    public var sample: Double?
    /// The most bytes opened in a second; nil is as fast as the disk is.
    public var bytesPerSecond: Int64?

    /// Opens everything, changes nothing, and does not wait, unless told otherwise.
    public init(repairs: Bool = false, sample: Double? = nil, bytesPerSecond: Int64? = nil) {
        self.repairs = repairs
        self.sample = sample
        self.bytesPerSecond = bytesPerSecond
    }

    /// - Throws: ``VaultError`` with code `invalidArgument` where they cannot be kept to.
    package func check(isOwner: Bool) throws {
        guard isOwner || !repairs else {
            throw VaultError(.invalidArgument, "a reader repairs nothing; open the vault as its owner")
        }
        if let sample, !(sample > 0 && sample <= 100) {
            throw VaultError(.invalidArgument, "a sample is more than 0 and at most 100 percent")
        }
        if let bytesPerSecond, bytesPerSecond <= 0 {
            throw VaultError(.invalidArgument, "a rate is at least one byte in a second")
        }
    }
}
