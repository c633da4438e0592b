import MediaVault
import VaultService

/// The name by which an argument identifies a title.
enum TitleName: Hashable, Sendable {
    /// The id that `list` prints.
    case id(TitleID)
    case url(MediaURL)

    /// Parses an argument, which is an id, or a URL as a person writes it or as it is shown.
    ///
    /// - Throws: ``VaultError`` with code `invalidURL` if the text is neither.
    init(_ text: String) throws {
        if let id = TitleID(text) {
            self = .id(id)
        } else if !text.isEmpty, !Self.hasScheme(text) {
            throw VaultError(
                .invalidURL,
                "\"\(ShownText.ofName(text))\" is neither a URL with http or https nor the id of a title, which has 8 "
                    + "of the characters a-z 2-7; mediavault list --search finds titles by their names")
        } else {
            self = .url(try MediaURL(typed: text))
        }
    }

    /// Parses a word of a list, in which a URL has no spaces.
    ///
    /// - Throws: as ``init(_:)``.
    init(word: String) throws {
        self = if let id = TitleID(word) { .id(id) } else { .url(try MediaURL(word)) }
    }

    private static func hasScheme(_ text: String) -> Bool {
        text.contains("://") || ["http:", "https:"].contains { text.lowercased().hasPrefix($0) }
    }

    /// The id, if the argument is one.
    var id: TitleID? { if case .id(let id) = self { id } else { nil } }
}

extension MediaURL {
    /// Parses a URL that a person typed, or copied from a program that shows spaces instead of escapes.
    ///
    /// - Throws: as ``init(_:)``.
    init(typed text: String) throws {
        try self.init(text.replacing("\\", with: "%5C").replacing(" ", with: "%20"))
    }
}

/// The content id and header fields that a command states for all its titles.
struct TitleNaming: Sendable {
    let contentID: String?
    let fields: HeaderFields

    /// Returns the reference to a title in a vault.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the vault has no title with the id.
    func reference(to name: TitleName, in vault: any VaultClient) async throws -> MediaReference {
        switch name {
        case .url(let url): return MediaReference(url, contentID: contentID, fields: fields)
        case .id(let id): return try await vault.reference(of: id, fields: fields)
        }
    }

    /// Returns the naming with the fields that a list states for a title added. Fields from the header file take
    /// precedence over these.
    func adding(_ fields: HeaderFields) -> TitleNaming {
        var all = self.fields.fields.reduce(fields) { $0.without($1.name) }
        for field in self.fields.fields { all.append(name: field.name, value: field.value) }
        return TitleNaming(contentID: contentID, fields: all)
    }

    /// Returns the references to several titles.
    ///
    /// - Throws: as ``reference(to:in:)``.
    func references(to names: [TitleName], in vault: any VaultClient) async throws -> [MediaReference] {
        var references: [MediaReference] = []
        for name in names { references.append(try await reference(to: name, in: vault)) }
        return references
    }
}
