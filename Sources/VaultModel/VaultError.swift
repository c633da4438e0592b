/// What went wrong, typed by what the caller can do next.
///
/// The message says what happened, to what, and what to do. It never carries keys, tokens, queries of URLs, or media.
public struct VaultError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the caller can do next. More may be added: a `switch` over codes needs a default.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case invalidURL, invalidArgument
            case noVault, owned, storage, diskFull, noRoom
            case wrongKey, damagedKeyring, tamperedKeyring, foreignKeyring, olderKeyring, looseKeyFile
            case integrity
            case unreachable, refused, invalidResponse, changed
            case notHeld, unsatisfiableRange
            case closed, removed
            case busy, inUse
        }

        private let name: Name

        private init(name: Name) { self.name = name }

        /// The code of that name; nil where there is none.
        package init?(name: String) {
            guard let name = Name(rawValue: name) else { return nil }
            self.name = name
        }

        /// The URL cannot be used: correct it.
        public static let invalidURL = Code(name: .invalidURL)
        /// An argument or a setting cannot be used: correct it.
        public static let invalidArgument = Code(name: .invalidArgument)
        /// There is no vault, or no keyring, at this place: name the right one, or make one.
        public static let noVault = Code(name: .noVault)
        /// Another process owns the vault: wait for it, or end it.
        public static let owned = Code(name: .owned)
        /// The file system or the index refused: see the message.
        public static let storage = Code(name: .storage)
        /// There is no room left on the disk: make room.
        public static let diskFull = Code(name: .diskFull)
        /// The vault's own limits leave no room: raise them, unpin or remove something.
        public static let noRoom = Code(name: .noRoom)
        /// The key, passphrase or key file opens no slot of this keyring: use the right one.
        public static let wrongKey = Code(name: .wrongKey)
        /// The keyring file is damaged: restore it from a backup.
        public static let damagedKeyring = Code(name: .damagedKeyring)
        /// The keyring file was changed by somebody without its keys: restore it from a backup.
        public static let tamperedKeyring = Code(name: .tamperedKeyring)
        /// The keyring belongs to another vault: name the right one.
        public static let foreignKeyring = Code(name: .foreignKeyring)
        /// The keyring is older than the one this vault was last used with: use the newer one.
        public static let olderKeyring = Code(name: .olderKeyring)
        /// Others can read the key file, or it has the wrong size: mend it.
        public static let looseKeyFile = Code(name: .looseKeyFile)
        /// Stored bytes fail their tag or do not fit their place: verify and repair.
        public static let integrity = Code(name: .integrity)
        /// The origin cannot be reached: try later, or use what is held.
        public static let unreachable = Code(name: .unreachable)
        /// The origin answered with an error status.
        public static let refused = Code(name: .refused)
        /// The origin's answer cannot be right: it is not used.
        public static let invalidResponse = Code(name: .invalidResponse)
        /// The content changed at the origin while it was read: open it again.
        public static let changed = Code(name: .changed)
        /// The bytes are not held and may not, or cannot, be fetched.
        public static let notHeld = Code(name: .notHeld)
        /// The range asked for lies outside the representation.
        public static let unsatisfiableRange = Code(name: .unsatisfiableRange)
        /// The vault or the reader was closed while this was under way.
        public static let closed = Code(name: .closed)
        /// The resource was removed while this was under way: open it again.
        public static let removed = Code(name: .removed)
        /// Another act works on the keys of the vault: wait until it is done.
        public static let busy = Code(name: .busy)
        /// Something still needs what was to go: see the message for what.
        public static let inUse = Code(name: .inUse)

        /// The code's name, as `--json` and logs show it.
        public var description: String { name.rawValue }
    }

    /// What the caller can do next.
    public var code: Code
    /// One sentence without a full stop: what happened, to what, and what to do.
    public var message: String
    /// The origin's status, for ``Code/refused``.
    public var originStatus: Int?
    /// The origin's `Retry-After` in seconds, for ``Code/refused``.
    public var retryAfter: Int?
    /// The first byte that is missing, for ``Code/notHeld``.
    public var firstMissing: Int64?
    /// The representation's length, for ``Code/unsatisfiableRange``, where it is known.
    public var length: Int64?

    /// `message` is one sentence without a full stop, and holds nothing secret.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }
}

extension VaultError {
    /// What everybody is told whose vault was closed, or locked, under him.
    package static let vaultClosed = VaultError(
        .closed, "the vault was closed or locked; open it again, or start its service anew")
}
