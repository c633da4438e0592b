import ArgumentParser
import MediaVault

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
        let way: SlotWay? =
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
        _ vault: VaultPlace, from file: String, unlock: Unlock, adding way: SlotWay?
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
