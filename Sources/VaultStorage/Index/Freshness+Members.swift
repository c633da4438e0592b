import VaultCrypto
import VaultModel

// The freshness of a representation among the members of its info.
extension Freshness {
    /// Nil where the members are none: then the vault asks once more, and that is all.
    init?(_ object: JSONObject) {
        guard let checked = try? object.integer("checked"), let lifetime = try? object.integer("lifetime"),
            let isStrict = try? object.bool("strict")
        else { return nil }
        self.init(checked: checked, lifetime: lifetime, isStrict: isStrict)
    }

    func write(to object: inout JSONObject) {
        object["checked"] = .integer(checked)
        object["lifetime"] = .integer(lifetime)
        object["strict"] = .bool(isStrict)
    }
}
