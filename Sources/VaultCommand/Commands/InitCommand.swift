import ArgumentParser
import Foundation
import MediaVault
import VaultService

struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Create a vault, its keyring, and the key file unless it exists.",
        discussion: "Changes no existing file. If no key is given, prompts for a new passphrase, twice.")

    @OptionGroup var access: VaultAccess

    @Flag(help: "Derive the key of a new passphrase with 1 GiB of memory in several seconds, instead of 256 MiB.")
    var sensitive = false

    @OptionGroup var output: JSONOption

    @Flag(help: "Accept the keyring of an earlier vault, which must be gone: two vaults with one keyring lose titles.")
    var forExistingKeyring = false

    func run() async throws {
        let place = try access.place.place()
        let source = try access.unlocking.source()
        let isNew = !FileManager.default.fileExists(atPath: place.keyring)
        let report = try await Vault.initialize(
            place, unlock: try await access.unlocking.unlock(isNew: isNew),
            strength: PassphraseStrength(isSensitive: sensitive), reusesKeyring: forExistingKeyring)
        var facts = [
            ("vault", place.folder + made(report.isVaultCreated)),
            ("keyring", place.keyring + made(report.isKeyringCreated)),
        ]
        let keyFile: String? = if case .keyFile(let path) = source { path } else { nil }
        if let keyFile { facts.append(("key file", keyFile + made(report.isKeyFileCreated))) }
        let record = InitRecord(
            vault: place.folder, isVaultCreated: report.isVaultCreated, keyring: place.keyring,
            isKeyringCreated: report.isKeyringCreated, keyFile: keyFile, isKeyFileCreated: report.isKeyFileCreated,
            restsWithVault: report.isUnlockOnVaultDisk)
        try await output.write(record, orText: FactText.text(facts))
        if report.isUnlockOnVaultDisk {
            await Terminal.shared.say(UnlockText.sameDisk)
        }
    }

    private func made(_ isMade: Bool) -> String { isMade ? " (created)" : " (already exists)" }
}
