import VaultCrypto
import VaultModel

/// The permission in a playback link: `<expiry>.<depth>.<kind>.<mac>`.
///
/// Optional fields may precede the MAC. The first is the name, if the URL alone does not identify the resource;
/// otherwise it is a mark of the single target for which the link was created. Then come the variables of a playlist,
/// and last the grant's id, if the link is a named one.
struct Capability: Hashable {
    /// The source of the URL that the capability opens.
    enum Kind: String {
        /// The operator provided the URL, so its origin may be private or loopback, and use plain HTTP.
        case named = "n"
        /// A manifest or a redirect provided the URL, so only public addresses are allowed.
        case derived = "d"
    }

    /// The expiry in seconds since 1970. It is ``never`` only with a grant.
    let expiry: Int64
    /// The number of path segments in the scope; 0 stands for the whole authority.
    let depth: Int
    let kind: Kind
    /// What identifies the resource in addition to its URL, or in place of it. The scope is then this single target.
    let name: CapabilityName?
    /// 12 bytes, computed with the token key, that mark the single target for which the link was created; nil if there
    /// is a name. The link opens resources stored for a principal only at this target.
    let own: [UInt8]?
    /// The variables that the manifest naming this link defines for its playlists.
    let variables: PlaylistVariables?
    /// The id of the grant without which the link opens nothing; nil if only the expiry ends the link.
    let grant: GrantID?
    /// 16 bytes computed with the token key.
    let mac: [UInt8]

    /// The expiry of a link that never expires. Only the end of its grant ends the link.
    static let never = Int64.max

    static let macByteCount = 16
    static let ownByteCount = 12
    /// The prefix of the field that contains ``own``. No name begins with it.
    private static let targetMarkPrefix: Character = "~"
    /// The prefix of the field that contains ``grant``. No name begins with it.
    private static let grantPrefix: Character = "="
    /// The text of ``never``.
    private static let neverText = "never"
    /// The maximum number of path segments in a link's scope.
    private static let maxDepth = 8192

    init(
        expiry: Int64, depth: Int, kind: Kind, name: CapabilityName? = nil, own: [UInt8]? = nil,
        variables: PlaylistVariables? = nil, grant: GrantID? = nil, mac: [UInt8]
    ) {
        self.expiry = expiry
        self.depth = depth
        self.kind = kind
        self.name = name
        self.own = own
        self.variables = variables
        self.grant = grant
        self.mac = mac
    }

    /// Parses exactly the syntax that ``text`` writes; nil for anything else.
    init?(_ text: Substring) {
        let fields = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map(Substring.init)
        guard (4...7).contains(fields.count),
            let expiry = fields[0] == Self.neverText ? Self.never : DecimalNumber.exact(fields[0]),
            let depth = DecimalNumber.exact(fields[1]),
            depth <= Self.maxDepth, let kind = Kind(rawValue: String(fields[2])),
            let mac = Base64.decodeFromURL(String(fields[fields.count - 1])), mac.count == Self.macByteCount
        else { return nil }
        var extras = fields[3..<(fields.count - 1)]
        let grant = extras.last.flatMap { Self.grant($0) }
        if grant != nil { extras.removeLast() }
        let variables = extras.last.flatMap { PlaylistVariables($0) }
        if variables != nil { extras.removeLast() }
        let extra = extras.first
        let isOwn = extra?.first == Self.targetMarkPrefix
        let own = isOwn ? extra.flatMap { Base64.decodeFromURL(String($0.dropFirst())) } : nil
        let name = isOwn ? nil : extra.flatMap { CapabilityName(String($0)) }
        guard extras.count <= 1, extra == nil || name != nil || own?.count == Self.ownByteCount else { return nil }
        self.init(
            expiry: expiry, depth: Int(depth), kind: kind, name: name, own: own, variables: variables, grant: grant,
            mac: mac)
        guard text == self.text else { return nil }
    }

    private static func grant(_ field: Substring) -> GrantID? {
        guard field.first == grantPrefix else { return nil }
        return Base64.decodeFromURL(String(field.dropFirst())).flatMap { GrantID(bytes: $0) }
    }

    var text: String {
        "\(expiryText).\(depth).\(kind.rawValue)." + (name.map { "\($0.text)." } ?? "")
            + (own.map { "\(Self.targetMarkPrefix)\(Base64.encodeForURL($0))." } ?? "")
            + (variables.map { "\($0.text)." } ?? "")
            + (grant.map { "\(Self.grantPrefix)\(Base64.encodeForURL($0.bytes))." } ?? "") + Base64.encodeForURL(mac)
    }

    /// The expiry as it appears in the text and in the MAC's input. Only a link with a grant can be marked as never
    /// expiring.
    var expiryText: String { expiry == Self.never && grant != nil ? Self.neverText : String(expiry) }

    /// Returns the input of the MAC. Each field is preceded by its length, so different fields never yield the same
    /// input.
    ///
    /// - Parameters:
    ///   - scope: the folder's prefix, or the single target.
    ///   - rest: the remaining fields. They begin with the name, which is never empty, or with an empty field and the
    ///     mark of the target. If there are variables, two empty fields and the variables' bytes follow. If there is a
    ///     grant, three empty fields and its id follow.
    static func message(
        epoch: Int64, expiry: String, depth: Int, kind: Kind, url: MediaURL, scope: String, rest: [[UInt8]]
    ) -> [UInt8] {
        let fields = [String(epoch), expiry, String(depth), kind.rawValue, url.scheme, url.authority, scope]
        return MACMessage.bytes(fields.map { Array($0.utf8) } + rest)
    }

    /// Returns the first `depth` segments of a path, each with its trailing slash; nil if the path has fewer.
    static func prefix(of path: String, depth: Int) -> String? {
        var end = path.utf8.index(path.startIndex, offsetBy: 1, limitedBy: path.endIndex) ?? path.endIndex
        for _ in 0..<depth {
            guard let slash = path.utf8[end...].firstIndex(of: UInt8(ascii: "/")) else { return nil }
            end = path.utf8.index(after: slash)
        }
        return String(path[..<end])
    }

    /// Returns the number of path segments in the folder of a path.
    static func folderDepth(of path: String) -> Int { path.utf8.dropFirst().count { $0 == UInt8(ascii: "/") } }
}

/// Builds the input of a MAC over several fields.
enum MACMessage {
    /// Returns the fields, each preceded by its length, so that different fields never yield the same bytes.
    static func bytes(_ fields: [[UInt8]]) -> [UInt8] {
        fields.flatMap { field in LittleEndian.bytes(UInt32(field.count)) + field }
    }
}

/// The name of a resource that its URL alone does not identify: the caller's content id, the principal for whom the
/// resource was stored, or both.
///
/// It is encoded like a cache key: the content id, followed by a zero byte and 32 bytes if there is a principal.
struct CapabilityName: Hashable {
    let contentID: String?
    let principal: [UInt8]?

    /// Creates a name; nil if there is neither a content id nor a principal.
    init?(contentID: String?, principal: [UInt8]?) {
        guard contentID != nil || principal != nil else { return nil }
        self.contentID = contentID
        self.principal = principal
    }

    /// Parses the base64url that ``text`` writes; nil for anything else.
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

/// The variables that a multivariant playlist defines for its media playlists (`EXT-X-DEFINE`). They are carried in the
/// links to these playlists.
///
/// The service need not remember the variables. They survive a restart, and another playlist that names the same media
/// playlist cannot change them.
struct PlaylistVariables: Hashable {
    let values: [String: String]

    /// The prefix of the text form. No name begins with it.
    private static let prefix: Character = "$"
    /// The maximum number of encoded bytes, so that a link still fits into the head of a request.
    private static let maxBytes = 4096

    /// Creates the variables; nil if there are none, or too many to fit into a link.
    init?(_ values: [String: String]) {
        self.values = values
        guard !values.isEmpty, bytes.count <= Self.maxBytes else { return nil }
    }

    /// Parses the text that ``text`` writes; nil if it is not valid.
    init?(_ text: Substring) {
        guard text.first == Self.prefix, let bytes = Base64.decodeFromURL(String(text.dropFirst())),
            bytes.count <= Self.maxBytes, let lines = String(validating: bytes, as: UTF8.self)
        else { return nil }
        var values: [String: String] = [:]
        for line in lines.utf8.split(separator: UInt8(ascii: "\n")) {
            let sides = line.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2 else { return nil }
            values[String(Substring(sides[0]))] = String(Substring(sides[1]))
        }
        self.init(values)
    }

    /// One line `name=value` for each variable. Neither side contains a line ending, and no name contains an equals
    /// sign.
    var bytes: [UInt8] {
        values.sorted { $0.key < $1.key }.flatMap { Array("\($0.key)=\($0.value)\n".utf8) }
    }

    var text: String { "\(Self.prefix)\(Base64.encodeForURL(bytes))" }
}
