package import VaultModel

/// The checked header fields of a request, with the rule of which origin may receive them.
package struct RequestFields: Sendable {
    private let request: OriginRequest

    /// Checks the fields of a request.
    ///
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument`` if a field cannot be sent: libcurl writes
    ///   a line break in a value as it is, so that the text after it would be a field of its own.
    init(_ request: OriginRequest) throws(VaultError) {
        try Self.check(request.fields)
        guard Self.conditions(request).allSatisfy({ Self.isPrintable($0.value) }) else {
            throw Self.unsendable("a validator contains a control character; send the request without it")
        }
        self.request = request
    }

    /// Checks the fields of a caller before they are sent anywhere.
    ///
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument`` if one cannot be sent.
    package static func check(_ fields: HeaderFields) throws(VaultError) {
        for field in fields.fields {
            guard Self.isToken(field.name) else {
                throw Self.unsendable("a request field has a name that HTTP does not allow; correct it")
            }
            guard !Self.isSetByVault(field.name) else {
                throw Self.unsendable("the request field \(field.name) is set by the vault itself; omit it")
            }
            guard Self.isPrintable(field.value) else {
                throw Self.unsendable("the request field \(field.name) contains a control character; remove it")
            }
        }
    }

    /// Returns whether a field frames the message or selects the bytes, so that no caller may set it.
    package static func isSetByVault(_ name: String) -> Bool {
        ours.contains { $0.isEqualIgnoringCase(name) }
    }

    /// Returns the lines for a request to `url`, in libcurl's spelling.
    ///
    /// The caller's fields and credentials go only to the origin that they were given for.
    ///
    /// - Parameter hasLeftOrigin: whether a redirect has led to another origin on the way; then they are not sent at all.
    func lines(for url: MediaURL, hasLeftOrigin: Bool = false) -> [String] {
        var lines = ["Accept-Encoding: identity"]
        if let range = request.range { lines.append("Range: \(range)") }
        lines += Self.conditions(request).map { "\($0.name): \($0.value)" }
        guard !hasLeftOrigin, url.scheme == request.url.scheme, url.host == request.url.host,
            url.effectivePort == request.url.effectivePort
        else { return lines }
        // libcurl sends a field without a value only if a semicolon replaces the colon.
        lines += request.fields.fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        if let userInfo = request.url.userInfo, request.fields["Authorization"] == nil {
            let credentials = userInfo.contains(":") ? userInfo : userInfo + ":"
            lines.append("Authorization: Basic \(Base64.encode(Array(credentials.utf8)))")
        }
        return lines
    }

    /// Returns the conditional fields. An entity tag takes precedence over a date; the date is for origins that do not
    /// support tags.
    private static func conditions(_ request: OriginRequest) -> [(name: String, value: String)] {
        [
            ("If-Range", request.ifRange), ("If-None-Match", request.ifChangedFrom?.entityTag?.description),
            ("If-Modified-Since", request.ifChangedFrom?.lastModified),
        ].compactMap { name, value in value.map { (name, $0) } }
    }

    /// The fields that frame the message or select the bytes; callers must not set them.
    private static let ours = [
        "Host", "Range", "If-Range", "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since",
        "Accept-Encoding", "Connection", "Content-Length", "Transfer-Encoding", "TE",
        "Trailer", "Upgrade", "Expect", "Proxy-Authorization", "Proxy-Connection",
    ]

    private static func unsendable(_ message: String) -> VaultError { VaultError(.invalidArgument, message) }

    private static func isPrintable(_ value: String) -> Bool {
        value.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
    }

    private static func isToken(_ name: String) -> Bool { !name.isEmpty && name.utf8.allSatisfy(HTTPToken.contains) }
}
