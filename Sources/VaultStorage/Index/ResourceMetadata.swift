import VaultCrypto
package import VaultModel

/// What the vault knows of a resource, sealed in `resource.metadata`.
package struct ResourceMetadata: Sendable {
    /// The URL as the caller gave it.
    package var url: String
    /// What the resource's id is the hash of.
    package internal(set) var cacheKey: [UInt8]
    /// The representation that is read, once there is one.
    package var serving: RepresentationID?
    /// Seconds since 1970.
    package let created: Int64
    /// All members, those this version does not know included.
    var members: JSONObject

    package init(url: String, cacheKey: [UInt8], created: Int64) {
        self.url = url
        self.cacheKey = cacheKey
        self.created = created
        members = JSONObject()
    }

    init?(_ object: JSONObject) {
        guard let url = try? object.string("url"), let cacheKey = try? object.base64("cacheKey"),
            let created = try? object.integer("created")
        else { return nil }
        self.url = url
        self.cacheKey = cacheKey
        self.created = created
        members = object
        guard case .string(let hex)? = object["serving"] else { return }
        guard let id = RepresentationID(hex: hex) else { return nil }
        serving = id
    }

    var object: JSONObject {
        var object = members
        object["url"] = .string(url)
        object["cacheKey"] = .string(Base64.encode(cacheKey))
        object["serving"] = serving.map { .string($0.hex) } ?? .null
        object["created"] = .integer(created)
        return object
    }
}
