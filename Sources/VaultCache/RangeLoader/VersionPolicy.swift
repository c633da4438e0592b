import VaultModel

/// Decides what tells the versions of one resource apart, by the operator's settings and by what answers have shown.
struct VersionPolicy: Sendable {
    let url: MediaURL
    /// Whether the caller has named the resource, so that it may have several URLs.
    let hasContentID: Bool
    let names: ResourceNames

    /// Returns whether the origin's entity tags are ignored, by the operator's choice or because they were found to
    /// identify nodes.
    func ignoresTags(_ tags: EntityTagReliability) -> Bool {
        tags.ignoresTags || names.ignoresEntityTag(of: url.host)
    }

    /// Returns whether one connection alone must fill a representation when more of it is requested from this URL.
    ///
    /// This is so if the representation was imported, or if no validator distinguishes it from another version and the
    /// operator has not declared the content of the origin's host immutable. Each URL is judged separately, because
    /// another URL of the same title may serve other bytes.
    func isBound(_ information: ContentInformation?, _ tags: EntityTagReliability, at url: MediaURL) -> Bool {
        guard let information else { return false }
        // Nothing shows that the origin has the imported bytes, even if its host is declared immutable.
        guard !information.isImported else { return true }
        guard information.validators.lastModified == nil else { return false }
        guard information.validators.strongTag == nil || ignoresTags(tags) else { return false }
        return !names.isImmutable(host: url.host) || !isSource(url, of: information)
    }

    /// Returns whether a representation's bytes came from this URL, comparing URLs as the key policy does.
    ///
    /// Without a content id they always did, because the key policy named the resource after the URL.
    func isSource(_ url: MediaURL, of information: ContentInformation) -> Bool {
        guard hasContentID else { return true }
        guard let source = information.source else { return false }
        return names.areAlike(source, url)
            && names.isImmutable(host: source.host) == names.isImmutable(host: url.host)
    }

    /// Adds the URL of the first bytes to content information, if the resource may have several URLs.
    func naming(_ url: MediaURL, in information: ContentInformation) -> ContentInformation {
        guard hasContentID else { return information }
        var information = information
        information.source = url
        return information
    }
}
