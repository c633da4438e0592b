import Foundation
import VaultModel

/// What went wrong, as `application/problem+json` tells it (RFC 9457).
struct ProblemDocument: Encodable {
    var status: Int
    var title: String
    var detail: String?
    /// The first byte that is missing.
    var firstMissing: Int64?
    /// The ranges that are held, each its first byte and one past its last.
    var held: [[Int64]]?

    var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Integers and strings always encode; an empty object is still an answer.
        return (try? encoder.encode(self)).map(Array.init) ?? Array("{}".utf8)
    }
}
