import VaultModel

/// The representations that `If-Match` or `If-None-Match` names (RFC 9110 §13.1.1, §13.1.2).
enum NamedTags: Hashable, Sendable {
    /// Any that there is: `*`.
    case any
    /// Those with one of these tags. A field that is no list of tags names none.
    case tags([EntityTag])

    /// Reads the values of all such fields of a request; nil where there are none.
    init?(_ values: [String]) {
        guard !values.isEmpty else { return nil }
        let list = values.joined(separator: ",")
        self = list.trimmingBlanks() == "*" ? .any : .tags(Self.tags(list) ?? [])
    }

    /// A comma within quotes belongs to its tag.
    private static func tags(_ list: String) -> [EntityTag]? {
        var tags: [EntityTag] = []
        var rest = list.utf8[...]
        while true {
            rest = rest.drop { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            guard !rest.isEmpty else { return tags }
            guard let opening = rest.firstIndex(of: UInt8(ascii: "\"")),
                let closing = rest[rest.index(after: opening)...].firstIndex(of: UInt8(ascii: "\"")),
                let tag = EntityTag(Substring(rest[...closing]))
            else { return nil }
            tags.append(tag)
            rest = rest[rest.index(after: closing)...]
            let next = rest.first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
            guard next == nil || next == UInt8(ascii: ",") else { return nil }
        }
    }
}
