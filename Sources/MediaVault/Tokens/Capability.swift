import VaultCrypto
import VaultModel

/// What a playback address may open, as it stands in the address: `<expiry>.<depth>.<kind>.<mac>`.
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
    /// 16 bytes under the token key.
    let mac: [UInt8]

    static let macByteCount = 16

    init(expiry: Int64, depth: Int, kind: Kind, mac: [UInt8]) {
        self.expiry = expiry
        self.depth = depth
        self.kind = kind
        self.mac = mac
    }

    /// Reads the spelling that ``text`` writes, and no other.
    init?(_ text: some StringProtocol) {
        let fields = text.split(separator: ".", omittingEmptySubsequences: false)
        guard fields.count == 4, let expiry = DecimalNumber.exact(fields[0]),
            let depth = DecimalNumber.exact(fields[1]),
            depth <= 1024, let kind = Kind(rawValue: String(fields[2])),
            let mac = Base64.decodeFromURL(String(fields[3])), mac.count == Self.macByteCount
        else { return nil }
        self.init(expiry: expiry, depth: Int(depth), kind: kind, mac: mac)
        guard text == self.text else { return nil }
    }

    var text: String { "\(expiry).\(depth).\(kind.rawValue).\(Base64.encodeForURL(mac))" }

    /// What the mac is made of: each field with its length before it, so that no two sets of fields read alike.
    static func message(epoch: Int64, expiry: Int64, depth: Int, kind: Kind, url: MediaURL, prefix: String) -> [UInt8] {
        let fields = [
            String(epoch), String(expiry), String(depth), kind.rawValue, url.scheme, url.authority, prefix,
        ]
        return fields.flatMap { field in LittleEndian.bytes(UInt32(field.utf8.count)) + Array(field.utf8) }
    }

    /// The first `depth` segments of a path, each with the slash after it; nil where the path has fewer.
    static func prefix(of path: String, depth: Int) -> String? {
        var rest = path.dropFirst()
        var prefix = "/"
        for _ in 0..<depth {
            guard let slash = rest.firstIndex(of: "/") else { return nil }
            prefix += rest[...slash]
            rest = rest[rest.index(after: slash)...]
        }
        return prefix
    }

    /// How many segments the folder of a path has.
    static func folderDepth(of path: String) -> Int { path.dropFirst().count { $0 == "/" } }
}
