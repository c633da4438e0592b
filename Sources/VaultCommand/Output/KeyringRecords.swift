import MediaVault
import VaultService

/// What `keys slot add --json` prints.
struct AddedSlotRecord: Encodable, Sendable {
    /// The number of the slot; null if the vault's owner chose it.
    @OrNull var slot: Int64?
    /// The key file that was created; null if none was created.
    @OrNull var keyFile: String?
    /// Whether the secret that unlocks the keyring is on the vault's own disk.
    let restsWithVault: Bool
}

/// What `keys slot remove` and `keys change-passphrase --json` print.
struct ChangedSlotRecord: Encodable, Sendable {
    let slot: Int
    /// Whether a new root key was created, so that a copied keyring no longer opens anything in the vault's folder.
    let revoked: Bool
    /// Why older generations were kept after the revocation, one sentence each; empty if all were destroyed.
    let kept: [String]

    /// - Parameter unretired: the result of ``RootRevocation/run(on:)``; nil if nothing was revoked.
    init(_ slot: Int, _ unretired: [VaultError]?) {
        self.slot = slot
        revoked = unretired != nil
        kept = (unretired ?? []).map(\.text)
    }
}

/// What `keys backup --json` prints.
struct BackupRecord: Encodable, Sendable {
    /// The path of the copy.
    let file: String
}

/// What `keys restore --json` prints.
struct RestoreRecord: Encodable, Sendable {
    let warnings: [String]
    /// The new path of the replaced keyring; null if there was none.
    @OrNull var replaced: String?
    /// The slots that unlock the keyring.
    let slots: [KeyringSlot]
    /// The slots of the replaced keyring that are gone.
    let lostSlots: [KeyringSlot]

    init(_ report: RestoreReport) {
        warnings = report.warnings
        slots = report.slots
        lostSlots = report.lostSlots
        replaced = report.kept
    }
}

/// What `keys lock --json` prints.
struct LockRecord: Encodable, Sendable {
    /// Whether a service had the vault open, and no longer has any key.
    let locked: Bool
}

/// What `keys revoke-links --json` prints.
struct RevocationRecord: Encodable, Sendable {
    let linksRevoked = true
    let tokenRevoked = true
}

/// What `keys revoke-root --json` prints.
struct RootRevocationRecord: Encodable, Sendable {
    let revoked = true
    /// Why older generations were kept, one sentence each; empty if all were destroyed.
    let kept: [String]

    /// - Parameter unretired: the result of ``RootRevocation/run(on:)``.
    init(_ unretired: [VaultError]) { kept = unretired.map(\.text) }
}

/// What `keys renew` and `keys respond-to-leak --json` print, even if they fail.
struct RunbookRecord: Encodable, Sendable {
    /// A step that has ended.
    struct Step: Encodable, Sendable {
        let step: String
        let complete: Bool
        /// The generations that the step destroyed.
        let retired: [Int]
        /// What the step left undone, one sentence each.
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
