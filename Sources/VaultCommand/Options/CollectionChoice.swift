import ArgumentParser
import MediaVault
import VaultService

/// A collection that an argument names.
enum CollectionChoice {
    static let help = ArgumentHelp("The name of a collection, or the id.", valueName: "collection")
    static let optionHelp = ArgumentHelp("All titles of this collection, by its name or id.", valueName: "name")

    /// Returns the collection with an id or a name, ignoring case.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if there is none; `invalidArgument` if several have the name.
    static func find(_ text: String, in vault: any VaultClient) async throws -> CollectionDocument {
        let all = try await vault.call(Operations.Collections.list).collections
        let folded = text.lowercased()
        let found = all.filter { $0.name?.lowercased() == folded }
        if let one = all.first(where: { $0.id == text }) ?? found.first, found.count <= 1 { return one }
        guard !found.isEmpty else {
            throw VaultError(.notHeld, "there is no collection with this name; mediavault collection list shows them")
        }
        throw VaultError(
            .invalidArgument, "\(found.count) collections have this name; give the id that collection list shows")
    }
}
