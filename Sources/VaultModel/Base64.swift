import Foundation

/// Base64 with one spelling for each value (RFC 4648 §4 and §5).
package enum Base64 {
    /// Encodes with padding, `+` and `/`, for sealed records, the keyring and Basic credentials.
    package static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// Decodes the spelling that ``encode(_:)`` writes; nil for any other text.
    package static func decode(_ text: String) -> [UInt8]? {
        guard let data = Data(base64Encoded: text), encode(Array(data)) == text else { return nil }
        return Array(data)
    }

    /// Encodes without padding, with `-` and `_`, for URLs.
    package static func encodeForURL(_ bytes: [UInt8]) -> String {
        String(encode(bytes).compactMap { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 == "=" ? nil : $0 })
    }

    /// Decodes the spelling that ``encodeForURL(_:)`` writes; nil for any other text.
    package static func decodeFromURL(_ text: String) -> [UInt8]? {
        let standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        let padding = String(repeating: "=", count: (4 - standard.count % 4) % 4)
        guard let bytes = decode(standard + padding), encodeForURL(bytes) == text else { return nil }
        return bytes
    }
}
