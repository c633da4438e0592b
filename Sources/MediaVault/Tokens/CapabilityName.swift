import VaultCrypto

/// What names a resource where its URL alone does not: the caller's id, or for whom it was stored, or both. It is spelled
/// as in a cache key: the id, and where there is a principal a zero byte and 32 bytes.
struct CapabilityName: Hashable {
    let contentID: String?
    let principal: [UInt8]?

    /// Nil where there is neither.
    init?(contentID: String?, principal: [UInt8]?) {
        guard contentID != nil || principal != nil else { return nil }
        self.contentID = contentID
        self.principal = principal
    }

    /// Reads the base64url that ``text`` writes.
    init?(_ text: String) {
        guard let bytes = Base64.decodeFromURL(text) else { return nil }
        let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        guard let id = String(validating: parts[0], as: UTF8.self) else { return nil }
        let principal = parts.count == 2 ? Array(parts[1]) : nil
        guard principal.map({ $0.count == 32 }) ?? true else { return nil }
        self.init(contentID: id.isEmpty ? nil : id, principal: principal)
    }

    var bytes: [UInt8] { Array((contentID ?? "").utf8) + (principal.map { [0] + $0 } ?? []) }

    var text: String { Base64.encodeForURL(bytes) }
}
