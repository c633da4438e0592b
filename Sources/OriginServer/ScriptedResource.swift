import VaultModel

/// Media at an origin, and the header fields that describe it.
package struct ScriptedResource: Sendable {
    package var media: PseudoRandomMedia
    package var contentType: String?
    /// The value of `ETag`, including the quotes.
    package var entityTag: String?
    package var lastModified: String?
    package var supportsRanges: Bool

    package init(
        seed: UInt64 = 1, length: Int64, contentType: String? = "video/mp4", entityTag: String? = "\"v1\"",
        lastModified: String? = nil, supportsRanges: Bool = true
    ) {
        self.media = PseudoRandomMedia(seed: seed, length: length)
        self.contentType = contentType
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.supportsRanges = supportsRanges
    }

    /// The answer that RFC 9110 requires: 200, 206, 304 or 416.
    package func answer(to request: ScriptedRequest) -> ScriptedAnswer {
        var answer = ScriptedAnswer(isKnown(by: request) ? 304 : 200)
        if let entityTag { answer.set("ETag", entityTag) }
        if let lastModified { answer.set("Last-Modified", lastModified) }
        if answer.status == 304 { return answer }
        if let contentType { answer.set("Content-Type", contentType) }
        answer.set("Accept-Ranges", supportsRanges ? "bytes" : "none")
        answer.set("Content-Length", String(media.length))
        guard request.method == "GET" else { return answer }
        guard let range = requestedRange(request) else {
            answer.body = [.media(media, 0..<media.length)]
            return answer
        }
        guard let bytes = range.resolved(length: media.length) else {
            answer.status = 416
            answer.set("Content-Range", "bytes */\(media.length)")
            answer.set("Content-Length", "0")
            return answer
        }
        answer.status = 206
        answer.set("Content-Range", ContentRange.bytes(bytes, total: media.length).description)
        answer.set("Content-Length", String(bytes.length))
        answer.body = [.media(media, bytes)]
        return answer
    }

    /// Whether the client has the current version. A tag takes precedence over a date, and is compared weakly.
    private func isKnown(by request: ScriptedRequest) -> Bool {
        if let tag = request.fields["If-None-Match"] {
            return entityTag?.replacing("W/", with: "") == tag.replacing("W/", with: "")
        }
        return request.fields["If-Modified-Since"].map { $0 == lastModified } ?? false
    }

    /// The single range to answer; nil for the whole.
    private func requestedRange(_ request: ScriptedRequest) -> RequestedRange? {
        guard supportsRanges, case .ranges(let ranges) = RangeHeader(request.range), ranges.count == 1 else {
            return nil
        }
        if let condition = request.ifRange, condition != entityTag, condition != lastModified { return nil }
        if let entityTag, entityTag.hasPrefix("W/"), request.ifRange == entityTag { return nil }
        return ranges[0]
    }
}
