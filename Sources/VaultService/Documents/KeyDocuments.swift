package import MediaVault

/// The state of a vault's keys, as `/api/v1/keys` and `keys list --json` report it.
package struct KeysDocument: Codable, Hashable, Sendable {
    /// A range of generations that were retired long ago.
    package struct Folded: Codable, Hashable, Sendable {
        package let first: Int
        package let last: Int
    }

    /// The generation that new resources use.
    package let current: Int
    package let generations: [GenerationReport]
    /// The generations omitted from ``generations`` because they were retired long ago.
    package let folded: [Folded]
    /// The command of the key operation in progress; null if there is none.
    @OrNull package var act: String?
    /// Whether a change of the locator, which recomputes all resource ids, is unfinished.
    package let locatorChanging: Bool
    @OrNull package var reseal: RemainingReseal?
    /// The number of titles whose shred is unfinished.
    package let shreds: Int

    package init(_ report: KeyReport) {
        current = report.current
        generations = report.generations
        folded = report.folded.map { Folded(first: $0.lowerBound, last: $0.upperBound) }
        act = report.act?.command
        locatorChanging = report.isLocatorChanging
        reseal = report.reseal
        shreds = report.shreds
    }

    /// The generations that are neither current nor retired.
    package var older: [GenerationReport] { generations.filter { $0.number != current && $0.state != .retired } }
}

/// The body of `POST /api/v1/rotations`. A body without members requests only a new generation.
package struct RotationRequest: Codable, Hashable, Sendable {
    /// Whether to replace the root key and the token key as well.
    var root: Bool?
    /// Whether to change the locator, and with it all resource ids, instead of creating a generation.
    var locator: Bool?
    /// The keys of the slots to keep when the root key is replaced.
    var slots: [SlotDocument]?
    /// Whether to drop all other slots when the root key is replaced.
    var dropSlots: Bool?

    /// Creates a request for a new generation, or for a new locator.
    package init(locator: Bool? = nil) { self.locator = locator }

    /// Creates a request for a new root key.
    init(slots: [SlotDocument], dropSlots: Bool) { (root, self.slots, self.dropSlots) = (true, slots, dropSlots) }

    /// - Throws: ``VaultError`` with code `invalidArgument` if the members contradict each other.
    func check() throws {
        guard root != true || locator != true else {
            throw VaultError(.invalidArgument, "root and locator cannot be combined; send two requests")
        }
        guard root == true || (slots ?? []).isEmpty && dropSlots != true else {
            throw VaultError(.invalidArgument, "slots and dropSlots apply only to a new root key; set root as well")
        }
    }
}

/// The body of `POST /api/v1/retirements`.
package struct RetirementRequest: Codable, Sendable {
    let generation: Int

    package init(generation: Int) { self.generation = generation }
}

/// The place where the service finds the secret that unlocks a keyring slot.
///
/// Only the path of a file or the name of a credential crosses the control socket, never the secret. The service, which
/// runs as the same user, reads the secret itself.
struct SlotDocument: Codable, Hashable, Sendable {
    /// The unlock method, which is `key-file`, `passphrase` or `credential`.
    let method: String
    /// The absolute path of the file that contains the secret.
    let path: String?
    /// The name of a credential that the service's unit loads.
    let name: String?
    /// Whether to accept the file even if other users can read it.
    let loose: Bool?

    private init(_ method: String, path: String? = nil, name: String? = nil, loose: Bool? = nil) {
        (self.method, self.path, self.name, self.loose) = (method, path, name, loose)
    }

    /// - Throws: ``VaultError`` with code `invalidArgument` if the service could not find the secret itself.
    init(_ key: SlotKey) throws {
        switch key {
        case .unlock(.keyFile(let path, let allowLoose)): self.init("key-file", path: path, loose: allowLoose)
        case .unlock(.passphraseFile(let path, let allowLoose)):
            self.init("passphrase", path: path, loose: allowLoose)
        // The service's unit has its own folder of credentials, so only the name is sent.
        case .unlock(.credential(let path)):
            self.init("credential", name: String(path.split(separator: "/").last ?? ""))
        case .credential(let name): self.init("credential", name: name.text)
        case .unlock(.passphrase), .unlock(.key), .unlock(.keyCommand): throw SlotKey.unfound
        }
    }

    /// - Throws: ``VaultError`` with code `invalidArgument` if the document names neither a file nor a credential.
    var key: SlotKey {
        get throws {
            switch (method, path, name) {
            case ("key-file", let path?, nil):
                .unlock(.keyFile(path: try Self.checked(path), allowLoose: loose ?? false))
            case ("passphrase", let path?, nil):
                .unlock(.passphraseFile(path: try Self.checked(path), allowLoose: loose ?? false))
            case ("credential", nil, let name?): .credential(try CredentialName(name))
            default:
                throw VaultError(
                    .invalidArgument,
                    "a slot must be a key-file or passphrase with a path, or a credential with a name"
                )
            }
        }
    }

    private static func checked(_ path: String) throws -> String {
        guard path.hasPrefix("/") else {
            throw VaultError(.invalidArgument, "the path of a slot's file must be absolute")
        }
        return path
    }
}

extension Receipt.Act {
    /// The command that runs the operation, as it appears in documents, such as `keys rotate --root`.
    package var command: String {
        switch self {
        case .shred: "shred"
        case .rotateRoot: "keys rotate --root"
        case .changeLocator: "keys rotate --locator"
        case .addSlot: "keys slot add"
        case .removeSlot: "keys slot remove"
        case .changeSlot: "keys change-passphrase"
        default: "keys \(rawValue)"
        }
    }
}
