package import VaultStorage

/// The options for opening a vault.
public struct VaultOptions: Sendable {
    /// What this process may do with the vault.
    public enum Access: Sendable {
        /// Fetches, seals, repairs and changes the vault: one process at a time.
        case owner
        /// Reads while another process may own the vault: needs no lock, and fetches nothing.
        case reader
    }

    /// Whether this process is an owner or a reader.
    public var access: Access
    /// The mode while the vault is open; nil for the mode in the vault's settings, or ``VaultMode/online`` if they have
    /// none. A reader is always offline.
    public var mode: VaultMode?
    /// The source of remote bytes; nil for libcurl.
    public var origin: (any Origin)?
    /// The limits while the vault is open. Each member overrides the one in the settings; 0 lifts the limit. Nil uses
    /// the limits of the settings.
    public var limits: StorageLimits?
    /// The file system with the vault's files.
    package var fileSystem: any FileSystem = PosixFileSystem()
    /// The wall clock.
    package var now: @Sendable () -> Int64 = WallClock.now
    /// How to retry failed requests to an origin.
    package var retry = RetryPolicy()
    /// Whether the vault does its periodic work by itself; if not, the caller does it when it chooses.
    package var isSelfMaintaining = true

    /// Called if another process owns the vault, with the error and the number of earlier attempts; returns whether to
    /// try again. By then, the keyring has been unlocked, and it stays unlocked.
    package var whenOwned: (@Sendable (_ refusal: VaultError, _ tries: Int) async throws -> Bool)?

    /// Creates options: by default, for an owner that fetches missing bytes with libcurl.
    public init(
        access: Access = .owner, mode: VaultMode? = nil, origin: (any Origin)? = nil, limits: StorageLimits? = nil
    ) {
        self.access = access
        self.mode = mode
        self.origin = origin
        self.limits = limits
    }
}
