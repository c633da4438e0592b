import VaultCrypto
import VaultModel

/// What a playback address may open, as it stands in the address: `<expiry>.<depth>.<kind>.<mac>`, or with a fifth field
/// before the mac: the name where the URL alone does not name the resource, else what tells the one target that the
/// address was made for.
struct Capability: Hashable {
    /// Who named the URL that the capability opens.
    enum Kind: String {
        /// The operator: its origin may be private or loopback, plain HTTP.
        case named = "n"
        /// A manifest or a redirect: public addresses only.
        case derived = "d"
    }

    /// Seconds since 1970.
    let expiry: Int64
    /// How many path segments the scope holds; 0 is the whole authority.
    let depth: Int
    let kind: Kind
    /// What names the resource beside, or in place of, its URL; then the scope is that one target.
    let name: CapabilityName?
    /// 12 bytes under the token key that stand for the one target that the address was made for, where there is no name:
    /// what was stored for a principal is opened at that target alone.
    let own: [UInt8]?
    /// 16 bytes under the token key.
    let mac: [UInt8]

    static let macByteCount = 16
    static let ownByteCount = 12
    /// What a field begins with that holds ``own``: no name does.
    private static let ownMark: Character = "~"
    /// As many segments as a URL can have.
    private static let mostDepth = 8192

    init(
        expiry: Int64, depth: Int, kind: Kind, name: CapabilityName? = nil, own: [UInt8]? = nil, mac: [UInt8]
    ) {
        self.expiry = expiry
        self.depth = depth
        self.kind = kind
        self.name = name
        self.own = own
        self.mac = mac
    }

    /// Reads the spelling that ``text`` writes, and no other.
    init?(_ text: Substring) {
        let fields = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map(Substring.init)
        guard fields.count == 4 || fields.count == 5, let expiry = DecimalNumber.exact(fields[0]),
            let depth = DecimalNumber.exact(fields[1]),
            depth <= Self.mostDepth, let kind = Kind(rawValue: String(fields[2])),
            let mac = Base64.decodeFromURL(String(fields[fields.count - 1])), mac.count == Self.macByteCount
        else { return nil }
        let extra = fields.count == 5 ? fields[3] : nil
        let isOwn = extra?.first == Self.ownMark
        let own = isOwn ? extra.flatMap { Base64.decodeFromURL(String($0.dropFirst())) } : nil
        let name = isOwn ? nil : extra.flatMap { CapabilityName(String($0)) }
        guard extra == nil || name != nil || own?.count == Self.ownByteCount else { return nil }
        self.init(expiry: expiry, depth: Int(depth), kind: kind, name: name, own: own, mac: mac)
        guard text == self.text else { return nil }
    }

    var text: String {
        "\(expiry).\(depth).\(kind.rawValue)." + (name.map { "\($0.text)." } ?? "")
            + (own.map { "\(Self.ownMark)\(Base64.encodeForURL($0))." } ?? "") + Base64.encodeForURL(mac)
    }

    /// What the mac is made of: each field with its length before it, so that no two sets of fields read alike.
    ///
    /// - Parameters:
    ///   - scope: the folder's prefix, or the one target.
    ///   - rest: the name, or nothing and then what tells the target. A name is never empty.
    static func message(
        epoch: Int64, expiry: Int64, depth: Int, kind: Kind, url: MediaURL, scope: String, rest: [[UInt8]]
    ) -> [UInt8] {
        let fields =
            [String(epoch), String(expiry), String(depth), kind.rawValue, url.scheme, url.authority, scope]
            .map { Array($0.utf8) } + rest
        return fields.flatMap { field in LittleEndian.bytes(UInt32(field.count)) + field }
    }

    /// The first `depth` segments of a path, each with the slash after it; nil where the path has fewer.
    static func prefix(of path: String, depth: Int) -> String? {
        var end = path.utf8.index(path.startIndex, offsetBy: 1, limitedBy: path.endIndex) ?? path.endIndex
        for _ in 0..<depth {
            guard let slash = path.utf8[end...].firstIndex(of: UInt8(ascii: "/")) else { return nil }
            end = path.utf8.index(after: slash)
        }
        return String(path[..<end])
    }

    /// How many segments the folder of a path has.
    static func folderDepth(of path: String) -> Int { path.utf8.dropFirst().count { $0 == UInt8(ascii: "/") } }
}

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
