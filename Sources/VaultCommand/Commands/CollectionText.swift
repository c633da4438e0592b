import MediaVault
import VaultService

/// Formats collections for people.
enum CollectionText {
    /// Returns a line for each collection.
    static func table(_ collections: [CollectionDocument]) -> String {
        let rows = collections.map { collection in
            [
                collection.id, collection.kind.rawValue, "\(collection.titles.count)", "\(collection.viewers.count)",
                name(of: collection),
            ]
        }
        return IssuedText.table(["ID", "KIND", "TITLES", "VIEWERS", "NAME"], rows)
    }

    /// Returns a table of each collection's titles under its name, and of the titles that belong to none.
    ///
    /// - Parameter titles: the titles to list, in the order for those that belong to no collection.
    static func groups(
        _ titles: [ListedDocument], _ collections: [CollectionDocument], _ columns: [ListColumn]
    ) -> String {
        let known = Dictionary(titles.compactMap { title in title.id.map { ($0, title) } }) { first, _ in first }
        let table = ListTable(columns: columns, terminalWidth: StandardOutput.shared.terminalWidth)
        let now = WallClock.now()
        func text(_ titles: [ListedDocument]) -> String {
            table.text(titles.map { title in columns.map { ListCell($0.text(title, now: now)) } })
        }
        var groups: [String] = []
        for collection in collections {
            let members = collection.titles.compactMap { known[$0] }
            guard !members.isEmpty else { continue }
            groups.append(
                "\(name(of: collection)), \(collection.kind.rawValue), \(Count.of(members.count, "title"))\n"
                    + text(members))
        }
        let grouped = Set(collections.flatMap(\.titles))
        let others = titles.filter { $0.id.map { !grouped.contains($0) } ?? true }
        if !others.isEmpty { groups.append((groups.isEmpty ? "" : "titles of no collection\n") + text(others)) }
        return groups.joined(separator: "\n")
    }

    private static func name(of collection: CollectionDocument) -> String {
        Terminal.printable(collection.name ?? "-")
    }
}
