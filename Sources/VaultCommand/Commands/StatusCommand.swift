import ArgumentParser
import MediaVault
import VaultService

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
            return try await ServedVault(ControlClient(folder: folder)).status()
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
        return FactSheet.text([
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
