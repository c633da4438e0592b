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

struct InfoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Tell what the vault holds of a title.",
        discussion: "Exit code 6 where the vault knows nothing of it. The origin is never asked.")

    @Argument(help: "The title: http or https.")
    var url: String

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let reference = try await naming.reference(try MediaURL(url), access.unlocking)
        let opener = try await access.opener()
        guard let summary = try await opener.reading({ try await $0.summary(of: reference) }) else {
            throw VaultError(.notHeld, "the vault knows nothing of \(reference); fetch it first")
        }
        let document = ResourceDocument(summary)
        try await StandardOutput.shared.write(json ? try JSONText.of(document) + "\n" : Self.text(document))
    }

    private static func text(_ document: ResourceDocument) -> String {
        let held = document.held.map { "\($0[0])-\($0[1] - 1)" }.joined(separator: ", ")
        return FactText.text([
            ("url", document.url), ("size", document.size.value.map(String.init) ?? "unknown"),
            ("held", held.isEmpty ? "nothing" : held), ("bytes", String(document.bytes)),
            ("type", document.type.value ?? "unknown"), ("etag", document.etag.value ?? "none"),
            ("class", document.class), ("mode", document.mode.value ?? "default"),
            ("generation", String(document.generation)),
        ])
    }
}

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Tell how the vault stands, and where its service runs.")

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let folder = try access.place.vault()
        let record = StatusRecord(try await status(in: folder), service: try await ServiceProbe.running(in: folder))
        try await StandardOutput.shared.write(
            json ? try JSONText.of(record) + "\n" : Self.text(record, folder))
    }

    /// The service knows what the index does not have yet, and needs no key; without one the index is read.
    private func status(in folder: String) async throws -> StatusDocument {
        do {
            return try await RemoteVault(ControlClient(folder: folder)).status()
        } catch is ServiceGone {
            return try await access.opener().reading { try await LocalVault($0).status() }
        }
    }

    /// What of the process that has the vault open may reach a disk unsealed, and what to do about it.
    static func memory(_ status: StatusDocument) -> String {
        let keys =
            status.keysLocked
            ? "keys are locked" : "keys are not locked: raise the limit (LimitMEMLOCK= of a unit, ulimit -l)"
        guard status.swapInReach else { return keys + (status.keysLocked ? "" : "; there is no swap they could reach") }
        return "\(keys); swap is on, so that "
            + (status.keysLocked ? "" : "keys and ") + "media may be written to it: set MemorySwapMax=0, or turn it off"
    }

    private static func text(_ record: StatusRecord, _ folder: String) -> String {
        let status = record.status
        return FactText.text([
            ("vault", "\(status.vault) in \(folder)"),
            ("holds", "\(ByteCount.text(status.bytes)) of \(status.resources) titles, in \(status.segments) segments"),
            ("fetched", ByteCount.text(status.bytesFetched)),
            ("keys", "generation \(status.generation)"),
            ("memory", memory(status)),
            ("unlock", status.unlock.method + (status.unlock.restsWithVault ? ", on the vault's own disk" : "")),
            ("service", record.service.value.map { "\($0.address) (process \($0.pid))" } ?? "not running"),
        ])
    }
}

struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Tell where each byte of a title's last answers came from.",
        discussion: """
            The service remembers its last answers as long as it runs: which bytes were opened from the vault, and \
            which came from the origin. Without a service only what is held is told. Exit code 6 where the vault \
            knows nothing of the title. The origin is never asked.
            """)

    @Argument(help: "The title: http or https.")
    var url: String

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let reference = try await naming.reference(try MediaURL(url), access.unlocking)
        let document = try await explanation(of: reference)
        try await StandardOutput.shared.write(
            json ? try JSONText.of(document) + "\n" : ExplanationText.text(document))
    }

    /// The service knows what it answered; without one the index is read.
    private func explanation(of reference: MediaReference) async throws -> ExplanationDocument {
        let client = ControlClient(folder: try access.place.vault())
        do {
            return try await RemoteVault(client).explanation(reference)
        } catch is ServiceGone {
            guard let summary = try await access.opener().reading({ try await $0.summary(of: reference) }) else {
                throw VaultError(.notHeld, "the vault knows nothing of \(reference); fetch it first")
            }
            return ExplanationDocument(summary, url: reference.url.absoluteString, answers: [])
        }
    }
}
