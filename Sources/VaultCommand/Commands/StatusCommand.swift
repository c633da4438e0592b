import ArgumentParser
import MediaVault

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Tell how the vault stands, and where its service runs.")

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let opener = try await access.opener()
        let status = try await opener.reading { try await $0.status() }
        let record = StatusRecord(status, service: try await ServiceProbe.running(in: opener.place.folder))
        try await StandardOutput.shared.write(
            json ? try JSONText.of(record) + "\n" : Self.text(record, opener.place.folder))
    }

    private static func text(_ record: StatusRecord, _ folder: String) -> String {
        FactSheet.text([
            ("vault", "\(record.vault) in \(folder)"),
            ("holds", "\(ByteCount.text(record.bytes)) of \(record.resources) titles, in \(record.segments) segments"),
            ("fetched", ByteCount.text(record.bytesFetched)),
            (
                "keys",
                "generation \(record.generation)"
                    + (record.keysLocked ? "" : ", not locked in memory: they may be swapped out")
            ),
            ("unlock", record.unlock.method + (record.unlock.restsWithVault ? ", on the vault's own disk" : "")),
            ("service", record.service.value.map { "\($0.address) (process \($0.pid))" } ?? "not running"),
        ])
    }
}
