import ArgumentParser
import Foundation
import MediaVault

struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Make a vault, its keyring, and the key file if it is not there.",
        discussion: "Touches nothing that exists. With no unlock named it asks for a new passphrase, twice.")

    @OptionGroup var access: VaultAccess

    @Flag(help: "Make a new passphrase cost 1 GiB of memory and some seconds, in place of 256 MiB.")
    var sensitive = false

    func run() async throws {
        let place = try access.place.place()
        let way = try access.unlocking.way()
        let isNew = !FileManager.default.fileExists(atPath: place.keyring)
        let report = try await Vault.initialize(
            place, unlock: try await access.unlocking.unlock(isNew: isNew),
            strength: PassphraseStrength(isSensitive: sensitive))
        var facts = [
            ("vault", place.folder + made(report.vaultMade)), ("keyring", place.keyring + made(report.keyringMade)),
        ]
        if case .keyFile(let path) = way { facts.append(("key file", path + made(report.keyFileMade))) }
        try await StandardOutput.shared.write(FactText.text(facts))
        if report.unlockRestsWithVault {
            await Terminal.shared.say(
                "what opens the keyring rests on the vault's own disk: it protects copies of the vault, not a stolen disk; "
                    + "keep the key on another medium, or use a passphrase")
        }
    }

    private func made(_ isMade: Bool) -> String { isMade ? " (made)" : " (was there)" }
}
