// The checks on fields that a caller, or a setting, adds to a request.
extension HeaderFields {
    /// Requires that every field can be sent, and that none is a field that the vault sets itself.
    ///
    /// libcurl would send a line break in a value unchanged, so the text after it would become a field of its own.
    ///
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument``. The message repeats nothing but a
    ///   field's name.
    package func requireSendable() throws(VaultError) {
        for field in fields {
            guard !field.name.isEmpty, field.name.utf8.allSatisfy(HTTPToken.contains) else {
                throw VaultError(.invalidArgument, "a request field has a name that HTTP does not allow; correct it")
            }
            guard !Self.isSetByVault(field.name) else {
                throw VaultError(
                    .invalidArgument, "the request field \(field.name) is set by the vault itself; omit it")
            }
            guard Self.isPrintable(field.value) else {
                throw VaultError(
                    .invalidArgument, "the request field \(field.name) contains a control character; remove it")
            }
        }
    }

    /// Returns whether a field controls the message's framing or the choice of bytes, so that no caller may set it.
    package static func isSetByVault(_ name: String) -> Bool {
        ofVault.contains { $0.isEqualIgnoringCase(name) }
    }

    /// Returns whether a value contains no control character other than a tab.
    package static func isPrintable(_ value: String) -> Bool {
        value.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
    }

    private static let ofVault = [
        "Host", "Range", "If-Range", "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since",
        "Accept-Encoding", "Connection", "Content-Length", "Transfer-Encoding", "TE",
        "Trailer", "Upgrade", "Expect", "Proxy-Authorization", "Proxy-Connection",
    ]
}
