import VaultCrypto
import VaultModel

/// The permission in a playback link: `<expiry>.<depth>.<kind>.<mac>`.
///
/// A fifth field may precede the mac: the name if the URL alone does not name the resource, otherwise a mark of the
/// single target that the link was created for. Before the mac there may also be the variables of a playlist, and then
/// the id of the grant, if the link is a named one.
struct Capability: Hashable {
    /// The source of the URL that the capability opens.
    enum Kind: String {
        /// The operator gave it: its origin may be private or loopback, and use plain HTTP.
        case named = "n"
        /// A manifest or a redirect named it: only public addresses are allowed.
        case derived = "d"
    }

    /// Seconds since 1970; ``never`` only with a grant.
    let expiry: Int64
    /// How many path segments the scope has; 0 is the whole authority.
    let depth: Int
    let kind: Kind
    /// The name of the resource, in addition to its URL or in place of it; the scope is then this single target.
    let name: CapabilityName?
    /// 12 bytes under the token key for the single target that the link was created for, if there is no name. The link
    /// opens what was stored for a principal only at this target.
    let own: [UInt8]?
    /// The variables that the manifest that named the link defines for its playlists.
    let variables: PlaylistVariables?
    /// The grant without which the link opens nothing; nil if the link ends only with its expiry.
    let grant: GrantID?
    /// 16 bytes under the token key.
    let mac: [UInt8]

    /// The expiry of a link that never expires: only its grant ends it.
    static let never = Int64.max

    static let macByteCount = 16
    static let ownByteCount = 12
    /// The prefix of a field that contains ``own``; no name begins with it.
    private static let targetMarkPrefix: Character = "~"
    /// The prefix of the field that contains ``grant``; no name begins with it.
    private static let grantPrefix: Character = "="
    /// The text of ``never``.
    private static let neverText = "never"
    /// The maximum number of path segments in a URL.
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

    /// Parses exactly the syntax that ``text`` writes.
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

    /// The expiry as it appears in the text and the mac. Only a link with a grant can state that it never expires.
    var expiryText: String { expiry == Self.never && grant != nil ? Self.neverText : String(expiry) }

    /// Returns the input of the mac. Each field is preceded by its length, so different fields never yield the same
    /// input.
    ///
    /// - Parameters:
    ///   - scope: the folder's prefix, or the single target.
    ///   - rest: the name; or an empty field, then the mark of the target. A name is never empty. Then, if there are
    ///     variables, two empty fields and their bytes, and if there is a grant, three empty fields and its id.
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

    /// Returns the number of segments of a path's folder.
    static func folderDepth(of path: String) -> Int { path.utf8.dropFirst().count { $0 == UInt8(ascii: "/") } }
}

/// The input of a mac over several fields.
enum MACMessage {
    /// Returns each field after its length, so that different fields never yield the same bytes.
    static func bytes(_ fields: [[UInt8]]) -> [UInt8] {
        fields.flatMap { field in LittleEndian.bytes(UInt32(field.count)) + field }
    }
}

/// The name of a resource that its URL alone does not name: the caller's content id, the principal that it was stored
/// for, or both.
///
/// The encoding is that of a cache key: the content id, then, if there is a principal, a zero byte and 32 bytes.
struct CapabilityName: Hashable {
    let contentID: String?
    let principal: [UInt8]?

    /// Creates a name; nil if there is neither.
    init?(contentID: String?, principal: [UInt8]?) {
        guard contentID != nil || principal != nil else { return nil }
        self.contentID = contentID
        self.principal = principal
    }

    /// Parses the base64url that ``text`` writes.
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

/// The variables that a multivariant playlist defines for its media playlists (`EXT-X-DEFINE`), carried in their links.
///
/// The service need not remember them: they survive a restart, and another playlist that names the same media playlist
/// cannot change them.
struct PlaylistVariables: Hashable {
    let values: [String: String]

    /// The prefix of the text; no name begins with it.
    private static let prefix: Character = "$"
    /// The maximum number of bytes: a link must still fit into the head of a request.
    private static let maxBytes = 4096

    /// Creates the variables; nil if there are none, or too many for a link.
    init?(_ values: [String: String]) {
        self.values = values
        guard !values.isEmpty, bytes.count <= Self.maxBytes else { return nil }
    }

    /// Parses what ``text`` writes.
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

    /// One line per variable, `name=value`: neither contains a line ending, and no name contains an equals sign.
    var bytes: [UInt8] {
        values.sorted { $0.key < $1.key }.flatMap { Array("\($0.key)=\($0.value)\n".utf8) }
    }

    var text: String { "\(Self.prefix)\(Base64.encodeForURL(bytes))" }
}
