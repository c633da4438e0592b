import VaultCrypto
package import VaultModel

/// What the vault knows of a representation, sealed in `representation.info`.
package struct RepresentationInfo: Sendable {
    /// Counts a resource's representations from 1, in the order they were made.
    package let sequence: Int64
    /// Length, type, validators, range support.
    package var information: ContentInformation
    /// When it was first fetched, in seconds since 1970.
    package let retrieved: Int64
    /// How long it is taken for what its origin has; nil where nobody wrote that down.
    package var freshness: Freshness?
    /// All members, those this version does not know included.
    private var members: JSONObject

    package init(sequence: Int64, information: ContentInformation, retrieved: Int64, freshness: Freshness? = nil) {
        self.sequence = sequence
        self.information = information
        self.retrieved = retrieved
        self.freshness = freshness
        members = JSONObject()
    }

    init?(_ object: JSONObject) {
        do {
            sequence = try object.integer("sequence")
            retrieved = try object.integer("retrieved")
            let tag = try object.optionalString("etag")
            information = ContentInformation(
                length: try object.optionalInteger("length"), type: try object.optionalString("type"),
                validators: Validators(
                    entityTag: tag.flatMap { EntityTag($0) }, lastModified: try object.optionalString("lastModified")),
                supportsRanges: try object.bool("ranges"))
        } catch {
            return nil
        }
        freshness = Freshness(object)
        members = object
    }

    var object: JSONObject {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        var object = members
        object["sequence"] = .integer(sequence)
        object["length"] = information.length.map { .integer($0) } ?? .null
        object["type"] = text(information.type)
        object["etag"] = text(information.validators.entityTag?.description)
        object["lastModified"] = text(information.validators.lastModified)
        object["ranges"] = .bool(information.supportsRanges)
        object["retrieved"] = .integer(retrieved)
        freshness?.write(to: &object)
        return object
    }
}
