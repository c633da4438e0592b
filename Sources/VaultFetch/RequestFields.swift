import VaultModel

/// A request's header fields, which have been checked, with the rule for which origin may receive them.
struct RequestFields: Sendable {
    private let request: OriginRequest
    /// The beginning of a `Cookie` line, in lower case.
    static let cookie = "cookie: "

    /// Checks a request's fields.
    ///
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument`` if a field cannot be sent.
    init(_ request: OriginRequest) throws(VaultError) {
        try request.fields.requireSendable()
        guard Self.conditions(request).allSatisfy({ HeaderFields.isPrintable($0.value) }) else {
            throw VaultError(
                .invalidArgument, "a validator contains a control character; send the request without it")
        }
        self.request = request
    }

    /// Returns the lines for a request to `url`, in libcurl's spelling.
    ///
    /// The caller's fields and credentials are sent only to the origin for which they were given.
    ///
    /// - Parameter hasLeftOrigin: whether a redirect has led to another origin, so that the caller's fields and
    ///   credentials are not sent at all.
    func lines(for url: MediaURL, hasLeftOrigin: Bool = false) -> [String] {
        var lines = ["Accept-Encoding: identity"]
        if let range = request.range { lines.append("Range: \(range)") }
        lines += Self.conditions(request).map { "\($0.name): \($0.value)" }
        guard !hasLeftOrigin, url.scheme == request.url.scheme, url.host == request.url.host,
            url.effectivePort == request.url.effectivePort
        else { return lines }
        lines += request.fields.fields.map(Self.line)
        if let userInfo = request.url.userInfo, request.fields["Authorization"] == nil {
            let credentials = userInfo.contains(":") ? userInfo : userInfo + ":"
            lines.append("Authorization: Basic \(Base64.encode(Array(credentials.utf8)))")
        }
        return lines
    }

    /// Returns the conditional fields. An entity tag takes precedence over a date, which is sent for origins that do
    /// not support tags.
    private static func conditions(_ request: OriginRequest) -> [(name: String, value: String)] {
        [
            ("If-Range", request.ifRange), ("If-None-Match", request.ifChangedFrom?.entityTag?.description),
            ("If-Modified-Since", request.ifChangedFrom?.lastModified),
        ].compactMap { name, value in value.map { (name, $0) } }
    }

    /// Returns the line for a field, in libcurl's spelling.
    static func line(_ field: HeaderFields.Field) -> String {
        // libcurl sends a field without a value only if a semicolon replaces the colon.
        field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
    }
}
