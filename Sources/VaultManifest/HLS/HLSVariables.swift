import VaultModel

/// A playlist's variables (`EXT-X-DEFINE`), which are substituted in URIs and quoted strings.
struct HLSVariables {
    /// The maximum length, in bytes, of a text after substitution. No URL is longer. The limit also stops chains of
    /// variables that double in length.
    private static let maxBytes = 8192

    private let url: MediaURL
    private let imports: [String: String]
    private(set) var values: [String: String] = [:]
    /// The names that have been defined, with or without a value.
    private var names: Set<String> = []

    /// - Parameters:
    ///   - url: the playlist's URL, from whose query `QUERYPARAM` takes values.
    ///   - imports: the variables that the multivariant playlist defines.
    init(url: MediaURL, imports: [String: String]) {
        self.url = url
        self.imports = imports
    }

    /// Adds a definition.
    ///
    /// A variable that is missing from the query or from the multivariant playlist is left without a value.
    ///
    /// - Returns: the edit that replaces an attribute if the definition depends on the playlist's URL, because the
    ///   player will get the playlist from another URL; nil if no edit is needed.
    /// - Throws: ``ManifestError/malformed(line:_:)`` if the name is invalid or is defined twice, because players
    ///   differ in which definition counts.
    mutating func define(
        _ attributes: HLSAttributes, _ line: HLSLine, _ budget: inout ManifestBudget
    ) throws(ManifestError) -> HLSEdit? {
        try budget.spendOne()
        if let name = attributes["NAME"] {
            let value = try attributes["VALUE"].map { value throws(ManifestError) in
                try expanded(attributes.bytes(of: value), &budget)
            }
            try set(name, attributes, line, value?.map { String(decoding: $0, as: UTF8.self) })
        } else if let name = attributes["IMPORT"] {
            try set(name, attributes, line, imports[Self.text(attributes.bytes(of: name))])
        } else if let name = attributes["QUERYPARAM"] {
            let text = Self.text(attributes.bytes(of: name))
            let value = parameter(text)
            try set(name, attributes, line, value)
            return value.map { HLSEdit(name.whole, .text("NAME=\"\(text)\",VALUE=\"\($0)\"")) }
        }
        return nil
    }

    /// Returns the text with its variables substituted; nil if a variable has no value, or if the text becomes too
    /// long.
    func expanded(
        _ text: ArraySlice<UInt8>, _ budget: inout ManifestBudget
    ) throws(ManifestError) -> ArraySlice<UInt8>? {
        guard text.contains(UInt8(ascii: "{")) else { return text }
        var result: [UInt8] = []
        var index = text.startIndex
        while index < text.endIndex {
            guard let name = Self.name(in: text, at: index) else {
                result.append(text[index])
                index += 1
                continue
            }
            guard let value = values[Self.text(text[name])], result.count + value.utf8.count <= Self.maxBytes else {
                return nil
            }
            try budget.spend(bytes: value.utf8.count)
            result += value.utf8
            index = name.upperBound + 1
        }
        return result[...]
    }

    /// Returns the range of the name in `{$name}` if such a reference begins at `index`.
    private static func name(in text: ArraySlice<UInt8>, at index: Int) -> Range<Int>? {
        guard text[index] == UInt8(ascii: "{"), text[index...].starts(with: "{$".utf8) else { return nil }
        let first = index + 2
        let end = text[first...].firstIndex { !isNameByte($0) } ?? text.endIndex
        guard end > first, end < text.endIndex, text[end] == UInt8(ascii: "}") else { return nil }
        return first..<end
    }

    private mutating func set(
        _ attribute: HLSAttributes.Attribute, _ attributes: HLSAttributes, _ line: HLSLine, _ value: String?
    ) throws(ManifestError) {
        let name = attributes.bytes(of: attribute)
        guard !name.isEmpty, name.allSatisfy(Self.isNameByte), names.insert(Self.text(name)).inserted else {
            throw .malformed(line: line.number, .definition)
        }
        values[Self.text(name)] = value
    }

    /// Returns the decoded value of a parameter in the playlist's own query; nil if it is missing or cannot be quoted.
    private func parameter(_ name: String) -> String? {
        for part in (url.query ?? "").utf8.split(separator: UInt8(ascii: "&")) {
            let sides = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, String(decoding: sides[0], as: UTF8.self) == name else { continue }
            let bytes = PercentEncoding.decoded(Array(sides[1]))
            guard bytes.allSatisfy({ (0x20..<0x7F).contains($0) && !"\"#\\".utf8.contains($0) }) else { return nil }
            return String(decoding: bytes, as: UTF8.self)
        }
        return nil
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
