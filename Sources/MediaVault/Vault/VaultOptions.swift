import VaultCache
import VaultModel
package import VaultStorage

/// The options for opening a vault.
public struct VaultOptions: Sendable {
    /// What this process may do with the vault.
    public enum Access: Sendable {
        /// The process fetches, seals, repairs and changes the vault. Only one process at a time can be an owner.
        case owner
        /// The process reads the vault, even while another process owns it. It needs no lock, and fetches nothing.
        case reader
    }

    /// Whether this process is an owner or a reader.
    public var access: Access
    /// The mode while the vault is open. Nil stands for the mode in the vault's settings, or ``VaultMode/online`` if
    /// none is set. A reader is always offline.
    public var mode: VaultMode?
    /// The source of remote bytes; nil to use libcurl.
    public var origin: (any Origin)?
    /// The limits while the vault is open. Each member overrides the one in the settings, and 0 lifts the limit; nil
    /// leaves all limits to the settings.
    public var limits: StorageLimits?
    /// How to retry failed requests to an origin. An app's tests set short times.
    public var retry = RetryPolicy()
    /// The wall clock, which returns the seconds since 1970; by default the system's. An app's tests set one that they
    /// move.
    ///
    /// By this clock, answers become stale, links and grants expire, and times are recorded. Waits and time limits, such
    /// as those of ``retry``, are measured by the system's monotonic clock. The vault uses 1970 in place of an earlier
    /// time, and the end of the year 9998 in place of a later one. It calls the closure often, on any thread, also while it
    /// holds locks: the closure must neither block nor call the vault.
    public var now: @Sendable () -> Int64 = WallClock.now
    /// The file system that contains the vault's files.
    package var fileSystem: any FileSystem = PosixFileSystem()
    /// Whether the vault does its periodic work itself. If not, the caller does it at times of its choice.
    package var isSelfMaintaining = true

    /// A closure to call if another process owns the vault, with the error and the number of earlier attempts. It
    /// returns whether to try again. The keyring has been unlocked by then, and stays unlocked.
    package var whenOwned: (@Sendable (_ refusal: VaultError, _ tries: Int) async throws -> Bool)?

    /// Creates options. By default they are for an owner that fetches missing bytes with libcurl.
    public init(
        access: Access = .owner, mode: VaultMode? = nil, origin: (any Origin)? = nil, limits: StorageLimits? = nil
    ) {
        self.access = access
        self.mode = mode
        self.origin = origin
        self.limits = limits
    }

    /// The clock as the vault reads it.
    var boundedClock: @Sendable () -> Int64 { { [now] in min(max(0, now()), Self.latest) } }

    /// The end of the year 9998. Any record can state a time shortly after it.
    private static let latest: Int64 = 253_370_764_799
}
