import ArgumentParser
import MediaVault

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Print the admin token, which opens the service's API.",
        discussion: """
            Send it as "Authorization: Bearer TOKEN". Needs the keyring only: neither the vault nor a running service. \
            Whoever has it can do whatever the service can.
            """)

    @OptionGroup var access: VaultAccess

    func run() async throws {
        let keyring = try access.place.keyringFile()
        let tokens = try await TokenIssuer.open(keyring: keyring, unlock: try await access.unlocking.unlock())
        try await StandardOutput.shared.write(tokens.adminToken + "\n")
    }
}
