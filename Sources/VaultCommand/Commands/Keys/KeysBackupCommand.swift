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
        let way = SlotWay(
            try await backup.unlock(isNew: true, allowLoose: access.unlocking.allowLooseKeyFile),
            strength: PassphraseStrength(isSensitive: sensitive))
        try await changer.orders.backUp(to: file, for: way) { try await changer.carryOut($0) }
        await Terminal.shared.say("the keyring is backed up in \(file); keep it apart from the vault")
    }
}
