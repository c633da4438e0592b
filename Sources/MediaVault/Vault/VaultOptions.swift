package import VaultStorage

/// How a vault is opened.
public struct VaultOptions: Sendable {
    /// What the opened vault may do.
    public enum Access: Sendable {
        /// Change the vault: one process at a time. Fetches, seals, repairs.
        case owner
        /// Read beside the owner: needs no lock and fetches nothing.
        case reader
    }

    /// Owner or reader.
    public var access: Access
    /// What is asked of origins for as long as the vault is open; nil leaves it to the vault's settings, and to
    /// ``VaultMode/online`` where they say nothing. A reader is always offline.
    public var mode: VaultMode?
    /// Where remote bytes come from; nil is libcurl.
    public var origin: (any Origin)?
    /// Limits for as long as the vault is open, over those of its settings, member by member; 0 lifts one. Nil leaves
    /// the settings as they are.
    public var limits: StorageLimits?
    /// What the vault's files lie on.
    package var fileSystem: any FileSystem = PosixFileSystem()
    /// The wall clock.
    package var now: @Sendable () -> Int64 = WallClock.now
    /// How an origin that fails is asked again.
    package var retry = RetryPolicy()

    /// Asked where another process owns the vault, with the refusal and how often it was refused before: whether to try
    /// again. The keyring is unlocked by then, and stays so.
    package var whenOwned: (@Sendable (_ refusal: VaultError, _ tries: Int) async throws -> Bool)?

    /// An owner that fetches what is missing with libcurl, unless told otherwise.
    public init(
        access: Access = .owner, mode: VaultMode? = nil, origin: (any Origin)? = nil, limits: StorageLimits? = nil
    ) {
        self.access = access
        self.mode = mode
        self.origin = origin
        self.limits = limits
    }
}
