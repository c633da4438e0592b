import MediaVault

/// An origin in memory, to fill a vault from.
struct HeldOrigin: Origin {
    static let url = "http://origin.example/film.mp4"
    let length: Int64

    func send(_ request: OriginRequest) async throws -> any OriginResponse {
        let range = (request.first ?? 0)..<(request.end ?? length)
        var fields = HeaderFields(["ETag": "\"1\"", "Content-Type": "video/mp4"])
        fields.append(name: "Content-Length", value: String(range.length))
        fields.append(name: "Content-Range", value: ContentRange.bytes(range, total: length).description)
        return HeldResponse(head: OriginHead(status: 206, fields: fields), left: range.length)
    }
}
