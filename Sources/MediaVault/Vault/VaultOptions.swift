package import VaultStorage

/// The options for opening a vault.
public struct VaultOptions: Sendable {
    /// What this process may do with the vault.
    public enum Access: Sendable {
        /// Fetches, seals, repairs and changes the vault: one process at a time.
        case owner
        /// Reads beside the owner: needs no lock, and fetches nothing.
        case reader
    }

    /// Owner or reader.
    public var access: Access
    /// The mode for as long as the vault is open; nil for the mode in the vault's settings, or ``VaultMode/online`` if
    /// they have none. A reader is always offline.
    public var mode: VaultMode?
    /// The source of remote bytes; nil for libcurl.
    public var origin: (any Origin)?
    /// Limits for as long as the vault is open. Each member overrides that of the settings; 0 lifts the limit. Nil uses
    /// the limits of the settings.
    public var limits: StorageLimits?
    /// The file system with the vault's files.
    package var fileSystem: any FileSystem = PosixFileSystem()
    /// The wall clock.
    package var now: @Sendable () -> Int64 = WallClock.now
    /// How failed requests to an origin are retried.
    package var retry = RetryPolicy()
    /// Whether the vault does its periodic work by itself; if not, the caller does, at the times it chooses.
    package var isSelfMaintaining = true

    /// Called if another process owns the vault, with the error and the number of earlier attempts; returns whether to
    /// try again. The keyring has been unlocked by then, and stays unlocked.
    package var whenOwned: (@Sendable (_ refusal: VaultError, _ tries: Int) async throws -> Bool)?

    /// By default, an owner that fetches missing bytes with libcurl.
    public init(
        access: Access = .owner, mode: VaultMode? = nil, origin: (any Origin)? = nil, limits: StorageLimits? = nil
    ) {
        self.access = access
        self.mode = mode
        self.origin = origin
        self.limits = limits
    }
}
