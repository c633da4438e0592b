import VaultFetch
import VaultModel

/// Web pages that come with status 200 in place of media: a login, a network's portal, an error.
extension ResourceLoader {
    /// The length of an AES-128 key.
    private static let keyBytes: Int64 = 16
    /// The largest page whose bytes are looked at, once it is held.
    static let maxPageBytes: Int64 = 64 << 10

    /// Returns the error for a page in place of media; nil if a representation is none.
    func page(_ information: ContentInformation) -> VaultError? {
        // Many a script that gives a key states the type of a page, because it states none.
        guard let type = information.type, MediaType.isPage(type), information.length != Self.keyBytes else {
            return nil
        }
        return page(ofType: type)
    }

    /// Returns the same error for a page that its first bytes show; nil if they show none.
    func page(beginning bytes: [UInt8]) -> VaultError? {
        MediaType.beginsPage(bytes) ? page(ofType: "text/html") : nil
    }

    private func page(ofType type: String) -> VaultError {
        VaultError(.notMedia, "\(url) is a web page, not media: its type is \(type)", hint: .anyType)
    }

    /// Whether an answer is a page, but what is held is none: then it says nothing about what is held, which stays.
    func isPage(_ head: OriginHead, inPlaceOf known: ContentInformation) -> Bool {
        guard [200, 206].contains(head.status), let type = head.fields["Content-Type"], MediaType.isPage(type) else {
            return false
        }
        return !(known.type.map(MediaType.isPage) ?? false) && !look(\.present.isEmpty)
    }

    /// Returns how long a representation counts as current: a page at a path of media does not, whatever its fields say.
    func freshness(_ freshness: Freshness, of information: ContentInformation) -> Freshness {
        guard page(information) != nil, MediaType.guess(path: url.path) != nil else { return freshness }
        return Freshness(checked: freshness.checked, lifetime: 0, isStrict: freshness.isStrict)
    }
}
