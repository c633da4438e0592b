import ArgumentParser
import MediaVault

struct KeysBackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Write a copy of the keyring that a passphrase of its own opens.",
        discussion: """
            The copy is opened by that passphrase alone, which is typed twice, and by nothing that opens the keyring. \
            Keep it apart from the vault. A file that is there is not replaced.
            """)

    @OptionGroup var backup: BackupOptions

    @Flag(help: "Make the passphrase cost 1 GiB of memory and some seconds, in place of 256 MiB.")
    var sensitive = false

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    func run() async throws {
        let file = try backup.path()
        let changer = try await KeyringChanger(access, waiting)
        let way = NewSlot(
            try await backup.unlock(isNew: true, allowLoose: access.unlocking.allowLooseKeyFile),
            strength: PassphraseStrength(isSensitive: sensitive))
        try await changer.orders.backUp(to: file, for: way) { try await changer.carryOut($0) }
        await Terminal.shared.say("the keyring is backed up in \(file); keep it apart from the vault")
    }
}

struct KeysRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Put a backup in the keyring's place, once it is proved to open this vault.",
        discussion: """
            Nothing may own the vault meanwhile: end the service first. The keyring is opened by the backup's passphrase \
            then, by the way that an option names that begins with --new, and by what opened the keyring that is replaced, \
            if that is whole and has the same root key. The keyring that is replaced is kept beside it. A \
            backup that is older than a retire, or opens some of the titles only, needs --force.
            """)

    @OptionGroup var backup: BackupOptions

    @Flag(help: "Restore though the backup is older than a retire, or opens some of the titles only.")
    var force = false

    @Flag(help: "Drop the slots of the keyring that is replaced.")
    var dropSlots = false

    @Flag(help: "Take a key or passphrase file that others can read, too.")
    var allowLooseKeyFile = false

    @OptionGroup(title: "New way") var new: NewWayOptions

    @OptionGroup(title: "Vault") var place: PlaceOptions

    func run() async throws {
        let file = try backup.path()
        let vault = try place.place()
        let unlock = try await backup.unlock(isNew: false, allowLoose: allowLooseKeyFile)
        let way: NewSlot? =
            try new.named() == nil ? nil : try await new.way(allowLoose: allowLooseKeyFile)
        let report = try await restore(vault, from: file, unlock: unlock, adding: way)
        for warning in report.warnings { await Terminal.shared.say(warning) }
        if let kept = report.kept {
            await Terminal.shared.say("the keyring that was replaced is kept as \(kept); delete it when all is well")
        }
        for slot in report.slots { await Terminal.shared.say("slot \(Self.name(slot)) opens it") }
        for slot in report.lostSlots { await Terminal.shared.say("what was slot \(Self.name(slot)) opens it no more") }
        await Terminal.shared.say("the keyring is restored and opens this vault; back it up again")
    }

    private func restore(
        _ vault: VaultPlace, from file: String, unlock: Unlock, adding way: NewSlot?
    ) async throws -> RestoreReport {
        do {
            return try await Vault.restoreKeyring(
                vault, from: file, unlock: unlock, adding: way, keepingSlots: !dropSlots, force: force)
        } catch let error as VaultError where error.code == .inUse && !dropSlots {
            throw VaultError(.inUse, "\(error.message), and --drop-slots takes away those of the keyring that is there")
        }
    }

    private static func name(_ slot: KeyringSlot) -> String { "\(slot.number) (\(slot.label), \(slot.method))" }
}

/// A backup of the keyring, and the passphrase that opens it.
struct BackupOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The backup's file.", valueName: "file"))
    var file: String

    @Option(help: ArgumentHelp("A file with the backup's passphrase, in place of typing it.", valueName: "file"))
    var backupPassphraseFile: String?

    /// The backup's absolute path.
    func path(in surroundings: ProcessEnvironment = .current) throws -> String {
        guard !file.isEmpty else { throw UsageError("the backup's file is empty; name a path") }
        return AbsolutePath.of(file, from: surroundings.workingDirectory)
    }

    /// What opens the backup.
    func unlock(isNew: Bool, allowLoose: Bool) async throws -> Unlock {
        let named = try UnlockOptions.ways(
            [("--key-file", nil), ("--backup-passphrase-file", backupPassphraseFile)], .current)
        return try await (named ?? .prompt).unlock(
            allowLoose: allowLoose, asking: isNew ? .newForBackup : .oldOfBackup)
    }
}
