import VaultCrypto

/// The settings and counters of a vault, sealed in `vault.settings`.
package struct VaultSettings: Sendable {
    /// Bytes of media that origins have sent since the vault was made.
    package var bytesFetched: Int64
    /// All members, those this version does not know included.
    var members: JSONObject

    package init() {
        bytesFetched = 0
        members = JSONObject()
    }

    init?(_ object: JSONObject) {
        guard let bytesFetched = try? object.optionalInteger("bytesFetched") ?? 0 else { return nil }
        self.bytesFetched = bytesFetched
        members = object
    }

    var object: JSONObject {
        var object = members
        object["bytesFetched"] = .integer(bytesFetched)
        return object
    }
}
