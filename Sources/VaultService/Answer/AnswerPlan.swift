import VaultModel

/// The head of an answer with media, decided before a byte is sent.
struct AnswerPlan: Hashable, Sendable {
    let status: Int
    /// The fields that differ among the answers of one representation: range, length and timing.
    let ownFields: HeaderFields
    /// The bytes that follow, or would follow were it not for HEAD; nil where that is not known.
    let length: Int64?
    private let facts: MediaFacts
    private let type: String?

    var cacheStatus: CacheStatus { facts.cacheStatus }

    /// All of the head's fields.
    var fields: HeaderFields {
        var fields = ownFields
        fields.append(sharedFields)
        return fields
    }

    /// An answer with one range, or with everything.
    ///
    /// - Parameter isRanged: whether the request asked for a range that counts.
    init(_ facts: MediaFacts, isRanged: Bool) {
        guard isRanged, !facts.isWholeAnswer, let range = facts.range, !range.isEmpty else {
            self.init(status: 200, facts, type: facts.type, length: facts.information.length)
            return
        }
        let whole = ContentRange.bytes(range, total: facts.information.length)
        self.init(status: 206, facts, type: facts.type, length: range.length, contentRange: whole)
    }

    /// An answer with several ranges. Its own `Content-Range` would make it one of a single range.
    init(_ facts: MediaFacts, _ multipart: Multipart) {
        self.init(status: 206, facts, type: multipart.contentType, length: multipart.length)
    }

    /// The client has what it asks for.
    init(notModified facts: MediaFacts) {
        self.init(status: 304, facts, type: nil, length: 0)
    }

    private init(
        status: Int, _ facts: MediaFacts, type: String?, length: Int64?, contentRange: ContentRange? = nil
    ) {
        self.status = status
        self.length = length
        self.facts = facts
        self.type = type
        var fields = HeaderFields()
        // What describes a body would, without one, describe what the client has (RFC 9110 §15.4.5).
        if type != nil {
            if let contentRange { fields.append(name: "Content-Range", value: contentRange.description) }
            if let length { fields.append(name: "Content-Length", value: String(length)) }
        }
        if let timing = facts.timing { fields.append(name: "Server-Timing", value: timing.value) }
        ownFields = fields
    }

    /// The fields that the answers of one representation have in common, where the type of their bodies is one.
    var sharedFields: HeaderFields {
        var fields = HeaderFields()
        if let type {
            fields.append(name: "Content-Type", value: type)
            fields.append(name: "Accept-Ranges", value: facts.isWholeAnswer ? "none" : "bytes")
        }
        // A weak one is no name for bytes: players would ask by it, and be given the whole.
        if !facts.entityTag.isWeak { fields.append(name: "ETag", value: facts.entityTag.description) }
        if let date = facts.lastModified { fields.append(name: "Last-Modified", value: date.description) }
        fields.append(name: "Cache-Status", value: facts.cacheStatus.value)
        fields.append(ProtectiveFields.ofMedia(type: facts.type))
        return fields
    }
}
