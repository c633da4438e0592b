import VaultModel

/// The token of an `Authorization` field (RFC 6750 §2.1).
enum BearerToken {
    /// The token; nil where there is no field, or it carries something else.
    static func read(_ authorization: String?) -> String? {
        guard let authorization, let blank = authorization.firstIndex(of: " "),
            authorization[..<blank].isEqualIgnoringCase("Bearer")
        else { return nil }
        return String(authorization[blank...].trimmingBlanks())
    }
}
