@testable import VaultService

/// A JSON document as a tree of values.
struct JSONDocument: Decodable {
    let tree: JSONTree

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            tree = .null
        } else if let truth = try? container.decode(Bool.self) {
            tree = .truth(truth)
        } else if let number = try? container.decode(Int64.self) {
            tree = .number(number)
        } else if let text = try? container.decode(String.self) {
            tree = .text(text)
        } else if let elements = try? container.decode([JSONDocument].self) {
            tree = .array(elements.map(\.tree))
        } else {
            tree = .object(try container.decode([String: JSONDocument].self).mapValues(\.tree))
        }
    }
}
