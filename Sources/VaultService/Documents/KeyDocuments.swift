package import MediaVault

/// The state of a vault's keys, as `/api/v1/keys` and `keys list --json` report it.
package struct KeysDocument: Codable, Hashable, Sendable {
    package struct Generation: Codable, Hashable, Sendable {
        package let number: Int
        /// Seconds since 1970.
        package let created: Int64
        /// `current`, `active`, `retiring` or `retired`.
        package let state: String
        /// How many backup files of the keyring contain its key.
        package let backups: Int
        /// The number of resources that need the generation.
        package let resources: Int
        /// Plaintext bytes sealed under the keys that it wraps.
        package let bytes: Int64
        /// How many of these resources will no longer need it when the unfinished reseal is complete.
        package let leaving: Int
    }

    /// A range of generations that were retired long ago.
    package struct Folded: Codable, Hashable, Sendable {
        package let first: Int
        package let last: Int
    }

    /// The remaining part of an unfinished reseal.
    package struct Reseal: Codable, Hashable, Sendable {
        package let resources: Int
        package let bytes: Int64
        /// Whether the vault continues it; if not, these resources could not be resealed completely.
        package let due: Bool
    }

    /// The generation that new resources use.
    package let current: Int
    package let generations: [Generation]
    /// Generations omitted from ``generations`` because they were retired long ago.
    package let folded: [Folded]
    /// The key operation in progress, named by its command.
    package let act: OrNull<String>
    /// Whether a change of the locator, which recomputes all resource ids, is unfinished.
    package let locatorChanging: Bool
    package let reseal: OrNull<Reseal>
    /// The number of titles whose shred is unfinished.
    package let shreds: Int

    package init(_ report: KeyReport) {
        current = report.current
        generations = report.generations.map { generation in
            Generation(
                number: generation.number, created: generation.created, state: generation.state.rawValue,
                backups: generation.backups, resources: generation.resources, bytes: generation.bytes,
                leaving: generation.leaving)
        }
        folded = report.folded.map { Folded(first: $0.lowerBound, last: $0.upperBound) }
        act = OrNull(report.act?.command)
        locatorChanging = report.isLocatorChanging
        reseal = OrNull(
            report.reseal.map { Reseal(resources: $0.resources, bytes: $0.bytes, due: $0.isDue) })
        shreds = report.shreds
    }

    /// Generations other than the current one that are not retired.
    package var older: [Generation] { generations.filter { $0.number != current && !$0.isRetired } }
}

extension KeysDocument.Generation {
    /// Whether the generation's key is destroyed.
    package var isRetired: Bool { state == GenerationState.retired.rawValue }
}

/// The body of `POST /api/v1/rotations`; without members, it requests only a new generation.
struct RotationRequest: Codable, Hashable, Sendable {
    /// Whether to replace the root key and the token key as well.
    var root: Bool?
    /// Whether to change the locator, and so all resource ids, instead.
    var locator: Bool?
    /// The keys of the slots to keep when the root key is replaced.
    var slots: [SlotDocument]?
    /// Whether to drop all other slots then.
    var dropSlots: Bool?

    /// - Throws: ``VaultError`` with code `invalidArgument` if members exclude each other.
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
struct RetirementRequest: Codable, Sendable {
    let generation: Int
}

/// The result of a rewrap, the last line of the answer to `POST /api/v1/rewraps`.
package struct RewrapDocument: Codable, Hashable, Sendable {
    /// The generation that now wraps the resource keys.
    package let generation: Int
    /// How many keys were rewrapped.
    package let keys: Int
    /// How many keys could not be opened, and stay as they are.
    package let unopened: Int
    /// The other generations that the keyring still has.
    package let older: [Int]

    package init(_ report: RewrapReport) {
        generation = report.generation
        keys = report.keys
        unopened = report.unopened
        older = report.older
    }
}

/// The progress of a rewrap.
package struct RewrapStep: Codable, Hashable, Sendable {
    package let keys: Int
    package let total: Int

    package init(_ progress: RewrapProgress) {
        keys = progress.keys
        total = progress.total
    }
}

/// The vault id, revision and slots of a keyring file.
///
/// `/api/v1/keyring` and `keys slot list --json` report it.
package struct KeyringListing: Codable, Hashable, Sendable {
    /// One way to unlock the keyring.
    package struct Slot: Codable, Hashable, Sendable {
        package let number: Int
        package let label: String
        /// `key-file`, `passphrase`, `command` or `credential`.
        package let method: String
        /// Passes of Argon2id, if the slot has a passphrase.
        package let opsLimit: OrNull<Int64>
        /// Memory of Argon2id in bytes, if the slot has a passphrase.
        package let memLimit: OrNull<Int64>
    }

    package let vault: String
    package let revision: Int64
    package let slots: [Slot]

    package init(_ summary: KeyringSummary) {
        vault = summary.vaultID
        revision = summary.revision
        slots = summary.slots.map {
            Slot(
                number: $0.number, label: $0.label, method: $0.method, opsLimit: OrNull($0.opsLimit),
                memLimit: OrNull($0.memLimit))
        }
    }
}

/// Where the service finds the secret that unlocks a keyring slot.
///
/// Only the path of a file or the name of a credential crosses the control socket, never the secret. The service runs
/// as the same user and reads the secret itself.
struct SlotDocument: Codable, Hashable, Sendable {
    /// `key-file`, `passphrase` or `credential`.
    let method: String
    /// The absolute path of a file.
    let path: String?
    /// The name of a credential of the service's unit.
    let name: String?
    /// Whether to accept a file that other users can read.
    let loose: Bool?

    private init(_ method: String, path: String? = nil, name: String? = nil, loose: Bool? = nil) {
        (self.method, self.path, self.name, self.loose) = (method, path, name, loose)
    }

    /// - Throws: ``VaultError`` with code `invalidArgument` for a secret that the service cannot find.
    init(_ key: SlotKey) throws {
        switch key {
        case .unlock(.keyFile(let path, let allowLoose)): self.init("key-file", path: path, loose: allowLoose)
        case .unlock(.passphraseFile(let path, let allowLoose)):
            self.init("passphrase", path: path, loose: allowLoose)
        // The service has its own folder for credentials, so only the name is sent.
        case .unlock(.credential(let path)):
            self.init("credential", name: String(path.split(separator: "/").last ?? ""))
        case .credential(let name): self.init("credential", name: name.text)
        case .unlock(.passphrase), .unlock(.keyCommand): throw SlotKey.unfound
        }
    }

    /// - Throws: ``VaultError`` with code `invalidArgument` if it names neither a file nor a credential.
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
    /// The command that runs the operation, as documents name it: `keys rotate --root`.
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
