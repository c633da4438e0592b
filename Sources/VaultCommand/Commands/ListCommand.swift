import ArgumentParser
import MediaVault
import VaultService

struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List what the vault holds.")

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON array.")
    var json = false

    func run() async throws {
        let opener = try await access.opener()
        try await opener.reading { vault in
            var page = json ? "[" : ""
            var isFirst = true
            var damage: VaultError?
            do {
                for try await summary in vault.resources() {
                    if json {
                        page += (isFirst ? "" : ",\n") + (try JSONText.of(ListedDocument(summary)))
                    } else {
                        page += (isFirst ? ListTable.heading : "") + ListTable.row(summary)
                    }
                    isFirst = false
                    if page.utf8.count > 32_768 {
                        try await StandardOutput.shared.write(page)
                        page = ""
                    }
                }
            } catch let error as VaultError where error.code == .integrity {
                // Told at the end of the list, which is as good as it can be.
                damage = error
            }
            try await StandardOutput.shared.write(page + (json ? "]\n" : ""))
            if let damage { throw damage }
        }
    }
}
