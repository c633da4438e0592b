import ArgumentParser
import MediaVault
import VaultModel
import VaultService

/// What becomes of the named links to titles that go.
struct LinkOption: ParsableArguments {
    @Flag(help: "Also revoke the named links to the titles, which are listed before.")
    var links = false

    /// Returns what tells of the links.
    var notice: LinkNotice { LinkNotice(areTaken: links) }
}

/// Tells which named links lead to a title, before it goes: their records keep its URL.
final class LinkNotice: Sendable {
    private let areTaken: Bool
    /// Nil until they are asked for.
    private let known = Locked<[NamedLinkDocument]?>(nil)

    init(areTaken: Bool) { self.areTaken = areTaken }

    func tell(of reference: MediaReference, in vault: any VaultClient) async throws {
        let links = try await links(in: vault)
        guard !links.isEmpty, let title = try await vault.resource(reference) else { return }
        for link in links where link.lead(to: title.id, at: title.url) {
            let shown = Terminal.printable(title.id.map { "\($0)" } ?? title.url)
            let name = Terminal.printable(link.name)
            let others = link.count > 1 ? " and \(Count.of(link.count - 1, "other link")) with it" : ""
            await Terminal.shared.say(
                areTaken
                    ? "the named link \(name) to \(shown)\(others) is revoked"
                    : "the named link \(name) to \(shown) stays, and names its URL; --links revokes it as well")
        }
    }

    private func links(in vault: any VaultClient) async throws -> [NamedLinkDocument] {
        if let links = known.withLock({ $0 }) { return links }
        let links = try await vault.links().links
        known.withLock { $0 = links }
        return links
    }
}
