import ArgumentParser
import Foundation
import MediaVault
import VaultService

struct KeysBackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Write a copy of the keyring that has its own passphrase.",
        discussion: """
            Only that passphrase, which is typed twice, opens the copy; the keys of the keyring do not. \
            Store it apart from the vault. An existing file is not replaced.
            """)

    @OptionGroup var backup: BackupOptions

    @Flag(help: "Derive the key of the passphrase with 1 GiB of memory in several seconds, instead of 256 MiB.")
    var sensitive = false

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let file = try backup.path()
        guard !FileManager.default.fileExists(atPath: file) else {
            throw VaultError(.invalidArgument, "\(file) already exists; name another file")
        }
        let changer = try await SlotChanger(owner)
        let newSlot = NewSlot(
            try await backup.unlock(isNew: true, allowLoose: owner.access.unlocking.allowLooseKeyFile),
            strength: PassphraseStrength(isSensitive: sensitive))
        try await changer.orders.backUp(to: file, for: newSlot) { try await changer.carryOut($0) }
        await Terminal.shared.say("backed up the keyring to \(file); store it apart from the vault")
        await Terminal.shared.say(CopiesText.ofBackup)
        try await output.writeIfJSON(BackupRecord(file: file))
    }
}

struct KeysRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Replace the keyring with a backup, after checking that it opens this vault.",
        discussion: """
            No process may own the vault meanwhile: stop the service first. Afterwards the keyring is unlocked by the \
            backup's passphrase, by the new unlock method that an option starting with --new names, and by the unlock \
            methods of the replaced keyring, if that is intact and has the same root key. The replaced keyring is kept \
            beside the new one. A backup that is older than a retire, or opens only some of the titles, needs --force.
            """)

    @OptionGroup var backup: BackupOptions

    @Flag(help: "Restore even if the backup is older than a retire, or opens only some of the titles.")
    var force = false

    @Flag(help: "Drop the slots of the replaced keyring.")
    var dropSlots = false

    @Flag(help: "Accept key and passphrase files that other users can read.")
    var allowLooseKeyFile = false

    @OptionGroup(title: "New unlock method") var new: NewSlotOptions

    @OptionGroup(title: "Vault") var place: PlaceOptions

    @OptionGroup var output: JSONOption

    func run() async throws {
        let file = try backup.path()
        let vault = try place.place()
        // These are checked before any prompt, because without a vault or a backup, no passphrase helps.
        try await vault.requireVault()
        try await vault.requireNoOwner()
        guard FileManager.default.fileExists(atPath: file) else {
            throw VaultError(
                .noVault, "there is no backup at \(file); give the backup of a keyring", hint: .backUpKeyring)
        }
        let unlock = try await backup.unlock(isNew: false, allowLoose: allowLooseKeyFile)
        let newSlot: NewSlot? =
            try new.named() == nil ? nil : try await new.slot(allowLoose: allowLooseKeyFile)
        let report = try await restore(vault, from: file, unlock: unlock, adding: newSlot)
        for warning in report.warnings { await Terminal.shared.say(warning) }
        if let kept = report.kept {
            await Terminal.shared.say("kept the replaced keyring as \(kept); delete it once the vault works")
        }
        for slot in report.slots { await Terminal.shared.say("slot \(Self.name(slot)) unlocks the keyring") }
        for slot in report.lostSlots { await Terminal.shared.say("slot \(Self.name(slot)) of the old keyring is gone") }
        await Terminal.shared.say(RestoreText.generations(report))
        await Terminal.shared.say("restored the keyring, which opens this vault; back it up again")
        try await output.writeIfJSON(RestoreRecord(report))
    }

    private func restore(
        _ vault: VaultPlace, from file: String, unlock: Unlock, adding newSlot: NewSlot?
    ) async throws -> RestoreReport {
        try await KeyAdministration.restore(
            vault, from: file, unlock: unlock, adding: newSlot, keepingSlots: !dropSlots, force: force)
    }

    private static func name(_ slot: KeyringSlot) -> String { "\(slot.number) (\(slot.label), \(slot.method))" }
}

/// The arguments that name a backup of the keyring, and the passphrase that opens the backup.
struct BackupOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("Backup file.", valueName: "file"), completion: .file())
    var file: String

    @Option(
        help: ArgumentHelp("File that contains the backup's passphrase, instead of typing it.", valueName: "file"),
        completion: .file())
    var backupPassphraseFile: String?

    /// Returns the backup's absolute path.
    func path(in environment: ProcessEnvironment = .current) throws -> String {
        guard !file.isEmpty else { throw UsageError("the path of the backup is empty; give one") }
        return try environment.absolute(file)
    }

    /// Returns the backup's unlock method, after prompting for a passphrase if no option names a file.
    func unlock(isNew: Bool, allowLoose: Bool) async throws -> Unlock {
        let named = try UnlockOptions.source(
            [("--key-file", nil), ("--backup-passphrase-file", backupPassphraseFile)], .current)
        return try await (named ?? .prompt).unlock(
            allowLoose: allowLoose, asking: isNew ? .newForBackup : .oldOfBackup)
    }
}
