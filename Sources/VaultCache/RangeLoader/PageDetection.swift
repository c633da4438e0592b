import VaultManifest
package import VaultModel

/// Recognizes what comes with status 200 but is not media: web pages, such as a login page, a network's portal or an
/// error page, and feeds, which name media.
package struct PageDetection: Sendable {
    let url: MediaURL

    /// The length of an AES-128 key in bytes.
    private static let keyBytes: Int64 = 16
    /// The maximum size, in bytes, of a held page whose content is examined.
    package static let maxBytes: Int64 = 64 << 10

    /// Returns the error for a page in place of media; nil if the representation is not a page.
    package func page(_ information: ContentInformation) -> VaultError? {
        // Many scripts that serve a key set no content type, so their answer is labelled as a page.
        guard let type = information.type, MediaType.isPage(type), information.length != Self.keyBytes else {
            return nil
        }
        return page(ofType: type)
    }

    /// Returns the error for content that cannot be played, such as an error or login page; nil for content that may be
    /// media.
    package func refusal(_ information: ContentInformation) -> VaultError? {
        guard let type = information.type, !MediaType.mayBeMedia(type),
            ManifestDetection.kind(type: type, path: url.path) == nil
        else { return nil }
        guard !MediaType.isPage(type) else { return page(ofType: type) }
        guard !MediaType.isFeed(type) else { return feed }
        return VaultError(.notMedia, "\(url) is not media: its type is \(type)", hint: .anyType)
    }

    /// Returns the error for a page, judged by its first bytes; nil if the bytes do not begin a page.
    package func page(beginning bytes: [UInt8]) -> VaultError? {
        MediaType.beginsPage(bytes) ? page(ofType: "text/html") : nil
    }

    /// Returns the error for a page or a feed, judged by its first bytes; nil for anything else.
    package func refusal(beginning bytes: [UInt8]) -> VaultError? {
        MediaType.beginsFeed(bytes) ? feed : page(beginning: bytes)
    }

    private var feed: VaultError {
        VaultError(.notMedia, "\(url) is a feed, not media: \(VaultError.feedAdvice)", hint: .followFeed)
    }

    private func page(ofType type: String) -> VaultError {
        VaultError(
            .notMedia,
            "\(url) is a web page, not media: its type is \(type); a login or the portal of a network may have sent it",
            hint: .anyType)
    }

    /// Returns how long a representation counts as current. A page at a media path never does, whatever its header
    /// fields say.
    func freshness(_ freshness: Freshness, of information: ContentInformation) -> Freshness {
        guard page(information) != nil, MediaType.guess(path: url.path) != nil else { return freshness }
        return Freshness(checked: freshness.checked, lifetime: 0, isStrict: freshness.isStrict)
    }
}
