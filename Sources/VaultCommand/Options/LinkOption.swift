import ArgumentParser
import MediaVault
import VaultModel
import VaultService

/// The option to revoke the named links to titles that are removed.
struct LinkOption: ParsableArguments {
    @Flag(help: "Also revoke the named links to the titles, which are listed before.")
    var links = false

    /// The object that reports the named links to the user.
    var notice: LinkNotice { LinkNotice(areTaken: links) }
}

/// Reports which named links lead to a title before the title is removed. This matters because the links' records keep
/// the title's URL.
final class LinkNotice: Sendable {
    private let areTaken: Bool
    /// The named links; nil until they are first needed.
    private let known = Locked<[NamedLinkDocument]?>(nil)
    /// The ids of the links that were already reported, by the kind of report.
    private let told = Locked<[Matter: Set<String>]>([:])

    private struct Matter: Hashable {
        let isHeld: Bool
        let mayLead: Bool
    }

    init(areTaken: Bool) { self.areTaken = areTaken }

    func tell(of reference: MediaReference, in vault: any VaultClient) async throws {
        let links = try await links(in: vault)
        guard !links.isEmpty else { return }
        let title = try await vault.resource(reference)
        let url = title?.url ?? "\(reference.url)"
        for sentence in sentences(of: links, to: title?.id, at: url, isHeld: title != nil) {
            await Terminal.shared.say(sentence)
        }
    }

    /// Returns the sentences about the links that lead to a title. Each link is reported at most once per kind of report.
    ///
    /// - Parameter isHeld: whether the vault has the title. No links are revoked for a title that it does not have.
    func sentences(
        of links: [NamedLinkDocument], to id: TitleID?, at url: String, isHeld: Bool
    ) -> [String] {
        let shown = Terminal.printable(id.map { "\($0)" } ?? url)
        return links.compactMap { link in
            let mayLead = link.mayLead(to: id, at: url)
            guard mayLead || link.lead(to: id, at: url) else { return nil }
            let matter = Matter(isHeld: isHeld, mayLead: mayLead)
            guard told.withLock({ $0[matter, default: []].insert(link.id).inserted }) else { return nil }
            guard !mayLead else {
                return "the named link \(Terminal.printable(link.name)) may lead to \(shown), because not all of its "
                    + "\(Count.of(link.count, "title")) are known; it stays"
            }
            let name = "the named link \(Terminal.printable(link.name)) to \(shown)"
            let others = link.count > 1 ? " and \(Count.of(link.count - 1, "other link")) with it" : ""
            guard isHeld else { return "\(name) stays, and names its URL, which the vault does not have" }
            return areTaken
                ? "\(name)\(others) is revoked once that is gone"
                : "\(name) stays, and names its URL; --links revokes it as well"
        }
    }

    private func links(in vault: any VaultClient) async throws -> [NamedLinkDocument] {
        if let links = known.withLock({ $0 }) { return links }
        let links = try await vault.call(Operations.Grants.links).links
        known.withLock { $0 = links }
        return links
    }
}
