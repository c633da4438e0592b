package import MediaVault

/// How the keys of a vault stand, as `/api/v1/keys` and `keys list --json` tell it.
package struct KeysDocument: Codable, Hashable, Sendable {
    package struct Generation: Codable, Hashable, Sendable {
        package let number: Int
        /// Seconds since 1970.
        package let created: Int64
        /// `current`, `active`, `retiring` or `retired`.
        package let state: String
        /// How many backup files of the keyring hold its key.
        package let backups: Int
        /// Resources that need it.
        package let resources: Int
        /// Plaintext bytes that lie sealed under the keys that it wraps.
        package let bytes: Int64
        /// Resources among them that need it no more once the reseal that is not finished is done.
        package let leaving: Int
    }

    /// Generations that were retired long ago, told of together.
    package struct Folded: Codable, Hashable, Sendable {
        package let first: Int
        package let last: Int
    }

    /// What is left of a reseal that was not finished.
    package struct Reseal: Codable, Hashable, Sendable {
        package let resources: Int
        package let bytes: Int64
        /// Whether the vault goes on with it; where not, these could not be sealed anew in whole.
        package let due: Bool
    }

    /// The generation that new resources use.
    package let current: Int
    package let generations: [Generation]
    /// Generations that are not in the list above, because they were retired long ago.
    package let folded: [Folded]
    /// The act that works on the keys now, by its command.
    package let act: OrNull<String>
    /// Whether resource ids are being computed anew, and that was not finished.
    package let locatorChanging: Bool
    package let reseal: OrNull<Reseal>
    /// Titles whose shred is not finished.
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
        act = OrNull(report.act)
        locatorChanging = report.isLocatorChanging
        reseal = OrNull(
            report.reseal.map { Reseal(resources: $0.resources, bytes: $0.bytes, due: $0.isDue) })
        shreds = report.shreds
    }

    /// Generations other than the current one whose keys still open something.
    package var older: [Generation] { generations.filter { $0.number != current && !$0.isRetired } }
}

extension KeysDocument.Generation {
    /// Whether its key is destroyed.
    package var isRetired: Bool { state == GenerationState.retired.rawValue }
}

/// What is asked of `POST /api/v1/rotations`: nothing but a new generation where all members are left out.
struct RotationOrder: Codable, Hashable, Sendable {
    /// Whether root key and token key are made anew, too.
    var root: Bool?
    /// Whether resource ids are computed anew instead.
    var locator: Bool?
    /// What opens the slots that stay when the root key is made anew.
    var slots: [SlotDocument]?
    /// Whether the other slots go then.
    var dropSlots: Bool?

    /// - Throws: ``VaultError`` with code `invalidArgument` where members exclude each other.
    func check() throws {
        guard root != true || locator != true else {
            throw VaultError(.invalidArgument, "root and locator are two acts; ask for one after the other")
        }
        guard root == true || (slots ?? []).isEmpty && dropSlots != true else {
            throw VaultError(.invalidArgument, "slots and dropSlots belong to a new root key; ask for root, too")
        }
    }
}

/// What is asked of `POST /api/v1/retirements`.
struct RetirementOrder: Codable, Sendable {
    let generation: Int
}

/// What wrapping all resource keys anew has come to: the last line of `POST /api/v1/rewraps`.
package struct RewrapDocument: Codable, Hashable, Sendable {
    /// The generation that wraps them now.
    package let generation: Int
    /// How many were wrapped anew.
    package let keys: Int
    /// How many do not open, and stay as they are.
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

/// How far wrapping all resource keys anew is.
package struct RewrapStep: Codable, Hashable, Sendable {
    package let keys: Int
    package let total: Int

    package init(_ progress: RewrapProgress) {
        keys = progress.keys
        total = progress.total
    }
}

/// What a keyring's file tells of itself, as `/api/v1/keyring` and `keys slot list --json` have it.
package struct KeyringListing: Codable, Hashable, Sendable {
    /// A way to unlock.
    package struct Slot: Codable, Hashable, Sendable {
        package let number: Int
        package let label: String
        /// `key-file`, `passphrase`, `command` or `credential`.
        package let method: String
        /// Passes of Argon2id, where it is a passphrase.
        package let opsLimit: OrNull<Int64>
        /// Memory of Argon2id in bytes, where it is a passphrase.
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

/// Where the service finds what unlocks a slot of the keyring. The path of a file crosses the control socket, or the name of
/// a credential; the secret never does: the service, which runs as the same user, reads it itself.
struct SlotDocument: Codable, Hashable, Sendable {
    /// `key-file`, `passphrase` or `credential`.
    let method: String
    /// The absolute path of a file.
    let path: String?
    /// The name of a credential of the service's unit.
    let name: String?
    /// Whether others may be able to read the file.
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
        // The service has a folder of its own for them.
        case .unlock(.credential(let path)):
            self.init("credential", name: String(path.split(separator: "/").last ?? ""))
        case .credential(let name): self.init("credential", name: name.text)
        case .unlock(.passphrase), .unlock(.keyCommand): throw SlotKey.unfound
        }
    }

    /// - Throws: ``VaultError`` with code `invalidArgument` where it names no file and no credential.
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
                    "a slot is named by a key-file or passphrase with its path, or by a credential with its name; correct it"
                )
            }
        }
    }

    private static func checked(_ path: String) throws -> String {
        guard path.hasPrefix("/") else {
            throw VaultError(.invalidArgument, "a slot's file is named by an absolute path; correct it")
        }
        return path
    }
}
