// Which fields a caller, or a setting, may add to a request.
extension HeaderFields {
    /// Requires that every field can be sent, and is not one that the vault sets itself.
    ///
    /// libcurl sends a line break in a value unchanged, so the text after it would become a field of its own.
    ///
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument``. The message contains at most a field's
    ///   name.
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

    /// Returns whether a field frames the message or selects the bytes, so that no caller may set it.
    package static func isSetByVault(_ name: String) -> Bool {
        ofVault.contains { $0.isEqualIgnoringCase(name) }
    }

    /// Returns whether a value has no control character other than a tab.
    package static func isPrintable(_ value: String) -> Bool {
        value.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
    }

    private static let ofVault = [
        "Host", "Range", "If-Range", "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since",
        "Accept-Encoding", "Connection", "Content-Length", "Transfer-Encoding", "TE",
        "Trailer", "Upgrade", "Expect", "Proxy-Authorization", "Proxy-Connection",
    ]
}
