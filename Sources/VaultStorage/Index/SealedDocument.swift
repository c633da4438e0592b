import VaultCrypto

/// JSON sealed into a column: padded with spaces to a multiple of 256 bytes, so that lengths tell little.
enum SealedDocument {
    private static let step = 256

    static func seal(_ object: JSONObject, key: borrowing SecretKey, associatedData: [UInt8]) throws -> [UInt8] {
        var plaintext = JSONValue.object(object.members).canonical
        plaintext += Array(repeating: 0x20, count: (step - plaintext.count % step) % step)
        return try SealedValue.seal(plaintext, key: key, associatedData: associatedData)
    }

    /// Nil where the tag is wrong or the content is no JSON object.
    static func open(_ sealed: [UInt8], key: borrowing SecretKey, associatedData: [UInt8]) -> JSONObject? {
        guard let plaintext = SealedValue.open(sealed, key: key, associatedData: associatedData),
            let value = try? JSONParser.parse(plaintext)
        else { return nil }
        return try? JSONObject(value, name: "")
    }

    /// `table ‖ 00 ‖ column ‖ 00 ‖ ids`.
    static func associatedData(_ table: String, _ column: String, _ ids: [UInt8]...) -> [UInt8] {
        Array(table.utf8) + [0] + Array(column.utf8) + [0] + ids.joined()
    }
}
