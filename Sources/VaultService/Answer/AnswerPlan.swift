import VaultModel

/// The head of an answer with media, decided before a byte is sent.
struct AnswerPlan: Hashable, Sendable {
    let status: Int
    let fields: HeaderFields
    /// The bytes that follow, or would follow were it not for HEAD; nil where that is not known.
    let length: Int64?

    /// - Parameter isRanged: whether the request asked for a range that counts.
    init(_ facts: MediaFacts, isRanged: Bool) {
        let information = facts.information
        var fields = HeaderFields()
        if isRanged, !facts.isWholeAnswer, let range = facts.range, !range.isEmpty {
            status = 206
            length = range.length
            fields.append(
                name: "Content-Range", value: ContentRange.bytes(range, total: information.length).description)
        } else {
            status = 200
            length = information.length
        }
        if let length { fields.append(name: "Content-Length", value: String(length)) }
        fields.append(name: "Content-Type", value: information.type ?? "application/octet-stream")
        fields.append(name: "Accept-Ranges", value: facts.isWholeAnswer ? "none" : "bytes")
        fields.append(name: "ETag", value: facts.entityTag.description)
        if let date = information.validators.lastModified { fields.append(name: "Last-Modified", value: date) }
        fields.append(name: "Cache-Status", value: facts.cacheStatus.value)
        fields.append(ProtectiveFields.all)
        self.fields = fields
    }
}
