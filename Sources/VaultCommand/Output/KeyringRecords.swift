import MediaVault
import VaultService

/// The output of `keys slot add --json`.
struct AddedSlotRecord: Encodable, Sendable {
    /// The number of the slot; null if the vault's owner chose the number.
    @OrNull var slot: Int64?
    /// The key file that was created; null if none was created.
    @OrNull var keyFile: String?
    /// Whether the secret that unlocks the keyring is on the vault's own disk.
    let restsWithVault: Bool
}

/// The output of `keys slot remove --json` and `keys change-passphrase --json`.
struct ChangedSlotRecord: Encodable, Sendable {
    let slot: Int
    /// Whether a new root key was created, so that a copied keyring no longer opens anything in the vault's folder.
    let revoked: Bool
    /// The reasons why older generations were kept after the revocation, as one sentence each; empty if all were
    /// destroyed.
    let kept: [String]

    /// - Parameter unretired: the result of ``RootRevocation/run(on:)``; nil if nothing was revoked.
    init(_ slot: Int, _ unretired: [VaultError]?) {
        self.slot = slot
        revoked = unretired != nil
        kept = (unretired ?? []).map(\.text)
    }
}

/// The output of `keys backup --json`.
struct BackupRecord: Encodable, Sendable {
    /// The path of the copy.
    let file: String
}

/// The output of `keys restore --json`.
struct RestoreRecord: Encodable, Sendable {
    let warnings: [String]
    /// The generation that new resources use now.
    let current: Int
    /// The generations that the vault had and that the restored keyring lacks.
    let lostGenerations: [Int]
    /// The path to which the replaced keyring was moved; null if there was none.
    @OrNull var replaced: String?
    /// The slots that unlock the keyring.
    let slots: [KeyringSlot]
    /// The slots of the replaced keyring that no longer exist.
    let lostSlots: [KeyringSlot]

    init(_ report: RestoreReport) {
        warnings = report.warnings
        (current, lostGenerations) = (report.current, report.lostGenerations)
        slots = report.slots
        lostSlots = report.lostSlots
        replaced = report.kept
    }
}

/// The output of `keys lock --json`.
struct LockRecord: Encodable, Sendable {
    /// Whether a service had the vault open, and no longer has any keys.
    let locked: Bool
}

/// The output of `keys revoke-links --json`.
struct RevocationRecord: Encodable, Sendable {
    let linksRevoked = true
    let tokenRevoked = true
}

/// The output of `keys revoke-root --json`.
struct RootRevocationRecord: Encodable, Sendable {
    let revoked = true
    /// The reasons why older generations were kept, as one sentence each; empty if all were destroyed.
    let kept: [String]

    /// - Parameter unretired: the result of ``RootRevocation/run(on:)``.
    init(_ unretired: [VaultError]) { kept = unretired.map(\.text) }
}

/// The output of `keys renew --json` and `keys respond-to-leak --json`, even if they fail.
struct RunbookRecord: Encodable, Sendable {
    /// A step that has ended.
    struct Step: Encodable, Sendable {
        let step: String
        let complete: Bool
        /// The generations that the step destroyed.
        let retired: [Int]
        /// One sentence for each thing that the step left undone.
        let problems: [String]

        init(_ ended: RunbookProgress.Ended) {
            step = RunbookText.name(ended.step)
            complete = ended.outcome.isComplete
            retired = if case .retired(let generations, _) = ended.outcome { generations } else { [] }
            problems = RunbookText.problems(ended)
        }
    }

    let steps: [Step]
    /// Whether every step was carried out and left nothing undone.
    let complete: Bool
    /// The last known state of the keys; null if the vault was not opened.
    @OrNull var keys: KeysDocument?

    init(_ progress: RunbookProgress, isDone: Bool, _ keys: KeysDocument?) {
        steps = progress.ended.map(Step.init)
        complete = isDone
        self.keys = keys
    }
}
