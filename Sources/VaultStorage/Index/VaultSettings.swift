import VaultCrypto
package import VaultModel

/// The settings and counters of a vault, sealed in `vault.settings`.
package struct VaultSettings: Sendable {
    /// Bytes of media that origins have sent since the vault was made.
    package var bytesFetched: Int64
    /// How much room the vault may take.
    package var limits: RoomLimits
    /// The mode of the vault, by name; nil where none was set.
    package var mode: String?
    /// All members, those this version does not know included.
    var members: JSONObject

    package init() {
        bytesFetched = 0
        limits = RoomLimits()
        members = JSONObject()
    }

    init?(_ object: JSONObject) {
        do {
            bytesFetched = try object.optionalInteger("bytesFetched") ?? 0
            limits = RoomLimits(
                maxSize: try object.optionalInteger("maxSize"), maxAge: try object.optionalInteger("maxAge"),
                minFree: try object.optionalInteger("minFree"),
                evictsDownloads: object["evictDownloads"] == nil ? nil : try object.bool("evictDownloads"))
            mode = try object.optionalString("mode")
        } catch {
            return nil
        }
        members = object
    }

    var object: JSONObject {
        var object = members
        object["bytesFetched"] = .integer(bytesFetched)
        for (name, value) in [("maxSize", limits.size), ("maxAge", limits.age)] {
            object[name] = (value ?? 0) > 0 ? value.map { .integer($0) } : nil
        }
        // 0 says that nothing is left free; where nothing is said, the usual part of the disk is.
        object["minFree"] = limits.minFree.map { .integer(max(0, $0)) }
        object["evictDownloads"] = limits.evictsDownloads.map { .bool($0) }
        object["mode"] = mode.map { .string($0) }
        return object
    }
}
