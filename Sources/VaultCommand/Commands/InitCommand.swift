import ArgumentParser
import Foundation
import MediaVault

struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Create a vault, its keyring, and the key file unless it exists.",
        discussion: "Changes no existing file. If no key is given, prompts for a new passphrase, twice.")

    @OptionGroup var access: VaultAccess

    @Flag(help: "Derive the key of a new passphrase with 1 GiB of memory and some seconds, instead of 256 MiB.")
    var sensitive = false

    func run() async throws {
        let place = try access.place.place()
        let way = try access.unlocking.way()
        let isNew = !FileManager.default.fileExists(atPath: place.keyring)
        let report = try await Vault.initialize(
            place, unlock: try await access.unlocking.unlock(isNew: isNew),
            strength: PassphraseStrength(isSensitive: sensitive))
        var facts = [
            ("vault", place.folder + made(report.isVaultCreated)),
            ("keyring", place.keyring + made(report.isKeyringCreated)),
        ]
        if case .keyFile(let path) = way { facts.append(("key file", path + made(report.isKeyFileCreated))) }
        try await StandardOutput.shared.write(FactText.text(facts))
        if report.isUnlockOnVaultDisk {
            await Terminal.shared.say(
                "warning: the file that unlocks the keyring is on the same disk as the vault, so it does not protect against theft of "
                    + "the disk; keep it on another disk, or use a passphrase")
        }
    }

    private func made(_ isMade: Bool) -> String { isMade ? " (created)" : " (already exists)" }
}
