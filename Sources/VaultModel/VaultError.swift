public import Foundation

/// An error, classified by what the caller can do next.
///
/// The message states what happened, what it happened to, and what to do. It never contains keys, tokens, URL queries,
/// or media.
public struct VaultError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The class of an error, which determines what the caller can do next.
    ///
    /// More codes may be added, so a `switch` over codes needs a default.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String, CaseIterable {
            case invalidURL, invalidArgument
            case noVault, owned, storage, diskFull, quotaExceeded
            case wrongKey, damagedKeyring, tamperedKeyring, foreignKeyring, olderKeyring, looseKeyFile
            case integrity
            case unreachable, refused, invalidResponse, changed
            case notHeld, unsatisfiableRange, notMedia
            case closed, locked, removed
            case busy, inUse
        }

        private let name: Name

        private init(name: Name) { self.name = name }

        /// Every code.
        package static var all: [Code] { Name.allCases.map { Code(name: $0) } }

        /// Creates the code that has a name; nil if no code has it.
        package init?(name: String) {
            guard let name = Name(rawValue: name) else { return nil }
            self.name = name
        }

        /// The URL cannot be used; correct it.
        public static let invalidURL = Code(name: .invalidURL)
        /// An argument or a setting cannot be used; correct it.
        public static let invalidArgument = Code(name: .invalidArgument)
        /// There is no vault, or no keyring, at this path; specify the right path, or create a vault.
        public static let noVault = Code(name: .noVault)
        /// Another process owns the vault; wait for it, or stop it.
        public static let owned = Code(name: .owned)
        /// The file system or the index failed; the message states how.
        public static let storage = Code(name: .storage)
        /// The disk is full; free some space.
        public static let diskFull = Code(name: .diskFull)
        /// The vault's own limits leave no space; raise them, or unpin or remove something.
        public static let quotaExceeded = Code(name: .quotaExceeded)
        /// The key, passphrase or key file opens none of this keyring's slots; use the right one.
        public static let wrongKey = Code(name: .wrongKey)
        /// The keyring file is damaged; restore it from a backup.
        public static let damagedKeyring = Code(name: .damagedKeyring)
        /// Somebody without the keys changed the keyring file; restore it from a backup.
        public static let tamperedKeyring = Code(name: .tamperedKeyring)
        /// The keyring belongs to another vault; use the right one.
        public static let foreignKeyring = Code(name: .foreignKeyring)
        /// The keyring is older than the one that the vault was last used with; use the newer one.
        public static let olderKeyring = Code(name: .olderKeyring)
        /// Other users can read the key file, or its size is wrong; correct its permissions, or use the right file.
        public static let looseKeyFile = Code(name: .looseKeyFile)
        /// Stored bytes fail authentication or are in the wrong place; verify and repair the vault.
        public static let integrity = Code(name: .integrity)
        /// The origin cannot be reached; try again later, or use held bytes.
        public static let unreachable = Code(name: .unreachable)
        /// The origin responded with an error status.
        public static let refused = Code(name: .refused)
        /// The origin's response is invalid, and its bytes are not used.
        public static let invalidResponse = Code(name: .invalidResponse)
        /// The content changed at the origin while the caller was reading it; open it again.
        public static let changed = Code(name: .changed)
        /// The bytes are not held, and fetching them is not allowed or not possible.
        public static let notHeld = Code(name: .notHeld)
        /// The requested range is outside the representation.
        public static let unsatisfiableRange = Code(name: .unsatisfiableRange)
        /// The content is not media but, for example, a web page; check the URL.
        public static let notMedia = Code(name: .notMedia)
        /// The vault or the reader was closed during the operation.
        public static let closed = Code(name: .closed)
        /// The service has the vault open, but no longer has its keys; restart the service.
        public static let locked = Code(name: .locked)
        /// The resource was removed during the operation; open it again.
        public static let removed = Code(name: .removed)
        /// Another key operation is running; wait until it has finished.
        public static let busy = Code(name: .busy)
        /// Something in use, such as a running import or a taken name, prevents the operation; the message states what.
        public static let inUse = Code(name: .inUse)

        /// The code's name, as JSON output and logs show it.
        public var description: String { name.rawValue }
    }

    /// A remedy that a program can offer in its own terms: as a command, an option, a button or a setting.
    ///
    /// More hints may be added, so a `switch` over hints needs a default.
    public struct Hint: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String, CaseIterable {
            case createVault, rebuildIndex, force, repair, listTitles, evictDownloads
            case listSlots, removeSlot, dropSlots, allowLooseFile
            case listGenerations, rewrap, retire, rotate, backUpKeyring, findKeyring, ownKeyring
            case anyType, useTLS, allowHost, allowPage, passSecret, rotateRootLocally
            case writablePath, importUnasked, addUntried, followFeed
        }

        private let name: Name

        private init(name: Name) { self.name = name }

        /// Every hint.
        package static var all: [Hint] { Name.allCases.map { Hint(name: $0) } }

        /// Creates the hint that has a name; nil if no hint has it.
        package init?(name: String) {
            guard let name = Name(rawValue: name) else { return nil }
            self.name = name
        }

        /// Create a vault.
        public static let createVault = Hint(name: .createVault)
        /// Rebuild the index.
        public static let rebuildIndex = Hint(name: .rebuildIndex)
        /// Confirm the operation, so that it is performed despite what the message says.
        public static let force = Hint(name: .force)
        /// Verify and repair the vault.
        public static let repair = Hint(name: .repair)
        /// List the titles.
        public static let listTitles = Hint(name: .listTitles)
        /// Allow size limits to evict downloads.
        public static let evictDownloads = Hint(name: .evictDownloads)
        /// List the slots of the keyring.
        public static let listSlots = Hint(name: .listSlots)
        /// Remove a slot of the keyring.
        public static let removeSlot = Hint(name: .removeSlot)
        /// Drop the slots that the message names.
        public static let dropSlots = Hint(name: .dropSlots)
        /// Accept a key file that other users can read, or that another user owns.
        public static let allowLooseFile = Hint(name: .allowLooseFile)
        /// List the generations of keys.
        public static let listGenerations = Hint(name: .listGenerations)
        /// Rewrap all keys, then retire the older generations.
        public static let rewrap = Hint(name: .rewrap)
        /// Retire older generations.
        public static let retire = Hint(name: .retire)
        /// Rotate the keys, then rewrap them.
        public static let rotate = Hint(name: .rotate)
        /// Create a backup of the keyring.
        public static let backUpKeyring = Hint(name: .backUpKeyring)
        /// Fetch content of any type.
        public static let anyType = Hint(name: .anyType)
        /// Add the subscription without trying it.
        public static let addUntried = Hint(name: .addUntried)
        /// Subscribe to the feed.
        public static let followFeed = Hint(name: .followFeed)
        /// Specify the keyring's path, or restore the keyring from a backup.
        public static let findKeyring = Hint(name: .findKeyring)
        /// Give the new vault its own keyring, or confirm that the keyring's former vault is gone.
        public static let ownKeyring = Hint(name: .ownKeyring)
        /// Serve over TLS, or accept that others on the network can read what is served.
        public static let useTLS = Hint(name: .useTLS)
        /// Allow the service to be reached under a host name.
        public static let allowHost = Hint(name: .allowHost)
        /// Allow a web origin's pages to play media.
        public static let allowPage = Hint(name: .allowPage)
        /// Pass the secret in a form that a service can read.
        public static let passSecret = Hint(name: .passSecret)
        /// Rotate the root key on the service's machine.
        public static let rotateRootLocally = Hint(name: .rotateRootLocally)
        /// Make the path writable for this process: change how it is mounted, or let the service's unit write there.
        public static let writablePath = Hint(name: .writablePath)
        /// Import the file without asking the origin.
        public static let importUnasked = Hint(name: .importUnasked)

        /// The hint's name, as problem documents show it.
        public var description: String { name.rawValue }
    }

    /// The class of the error, which determines what the caller can do next.
    public var code: Code
    /// A remedy to offer with the message; nil if the message suffices.
    public var hint: Hint?
    /// One sentence without a full stop that states what happened, what it happened to, and what to do.
    public var message: String
    /// The origin's status code, for ``Code/refused``.
    public var originStatus: Int?
    /// The origin's `Retry-After` in seconds, for ``Code/refused``.
    public var retryAfter: Int?
    /// The offset of the first missing byte, for ``Code/notHeld``.
    public var firstMissing: Int64?
    /// The representation's length if it is known, for ``Code/unsatisfiableRange``.
    public var length: Int64?

    /// Creates an error. `message` is one sentence without a full stop, and contains nothing secret.
    public init(_ code: Code, _ message: String, hint: Hint? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
    }

    /// The message.
    public var description: String { message }
}

extension VaultError: LocalizedError {
    /// The message, so that `localizedDescription` does not hide it behind the type's name.
    public var errorDescription: String? { message }
}

extension VaultError {
    /// The end of the message about a feed that was given in place of media.
    package static let feedAdvice = "follow it as a feed"

    /// The error for callers whose vault was closed or locked during their operation.
    package static let vaultClosed = VaultError(
        .closed, "the vault was closed or locked; open it again, or restart its service")

    /// The error for callers whose vault was destroyed.
    package static let vaultDestroyed = VaultError(
        .closed, "the vault was destroyed, and nothing of it can be read; stop its service, and delete its folder")

    /// The error for callers of a service whose keys were wiped.
    package static let vaultLocked = VaultError(
        .locked, "the vault is locked: its service has no key any more; restart the service")
}
