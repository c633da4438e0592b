import VaultService

/// A number of bytes as people write it, with its unit: `5B`, `200MiB` (powers of 1024), `2GB` or `2G` (powers of 1000). A
/// bare number is refused, for it may be meant in any unit; 0 alone is none.
enum SizeArgument {
    /// - Parameter option: what the error names.
    static func parse(_ text: String, _ option: String) throws -> Int64 {
        guard let bytes = SizeText.bytes(of: text) else { throw UsageError(SizeText.advice(for: option)) }
        return bytes
    }
}
