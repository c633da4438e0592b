import Foundation
import Testing
import VaultModel

/// The vectors of `Vectors/chacha20_poly1305.json`, in the shape of Project Wycheproof.
struct VectorFile: Decodable {
    struct Group: Decodable {
        let keySize: Int
        let ivSize: Int
        let tagSize: Int
        let tests: [Vector]
    }

    struct Vector: Decodable {
        let tcId: Int
        let comment: String
        let key: String
        let iv: String
        let aad: String
        let msg: String
        let ct: String
        let tag: String
        let result: String

        /// The fields as bytes.
        var bytes: (key: [UInt8], iv: [UInt8], aad: [UInt8], msg: [UInt8], ct: [UInt8], tag: [UInt8]) {
            get throws {
                func decode(_ text: String) throws -> [UInt8] { try #require(Hex.decode(text)) }
                return (
                    try decode(key), try decode(iv), try decode(aad), try decode(msg), try decode(ct), try decode(tag)
                )
            }
        }
    }

    let numberOfTests: Int
    let testGroups: [Group]

    static func load() throws -> VectorFile {
        let url = try #require(Bundle.module.url(forResource: "Vectors/chacha20_poly1305", withExtension: "json"))
        return try JSONDecoder().decode(VectorFile.self, from: Data(contentsOf: url))
    }

    var vectors: [Vector] { testGroups.flatMap(\.tests) }
}
