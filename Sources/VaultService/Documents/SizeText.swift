import MediaVault

/// A size as people write it, in a request and on the command line: `5G`, `200MiB`, `5B`. A bare number says nothing of
/// what is meant, and is refused; 0 alone is none in every unit.
package struct SizeText: Codable, Hashable, Sendable {
    /// Nil says: as in a new vault.
    package let bytes: Int64?

    package init(bytes: Int64) { self.bytes = bytes }

    /// As in a new vault.
    package static let standard = SizeText(nil)

    private init(_ bytes: Int64?) { self.bytes = bytes }

    /// Powers of 1024, and of 1000.
    private static let units: [(suffix: String, factor: Int64)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
        ("kB", 1000), ("KB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000), ("B", 1),
        ("k", 1000), ("K", 1000), ("M", 1_000_000), ("G", 1_000_000_000), ("T", 1_000_000_000_000),
    ]
    private static let standardWord = "default"

    /// The bytes that a text means; nil where it is no size with a unit.
    package static func bytes(of text: some StringProtocol) -> Int64? {
        if text == "0" { return 0 }
        guard let unit = units.first(where: { text.hasSuffix($0.suffix) }) else { return nil }
        let digits = text.dropLast(unit.suffix.count)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(digits)
        else { return nil }
        let (product, overflow) = count.multipliedReportingOverflow(by: unit.factor)
        return overflow || product > ContentInformation.mostBytes ? nil : product
    }

    /// A size as it can be written: in the largest unit that it is a whole number of.
    package static func text(_ bytes: Int64) -> String {
        guard bytes != 0 else { return "0" }
        var largest = (suffix: "B", factor: Int64(1))
        for unit in units where bytes % unit.factor == 0 && unit.factor > largest.factor { largest = unit }
        return "\(bytes / largest.factor)\(largest.suffix)"
    }

    /// What to write instead of what is no size.
    package static func advice(for name: String) -> String {
        "\(name) is a size with its unit: 5G or 200MiB, or 5B for bytes"
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            if text == Self.standardWord {
                self = .standard
                return
            }
            if let bytes = Self.bytes(of: text) {
                self.init(bytes: bytes)
                return
            }
        } else if (try? container.decode(Int64.self)) == 0 {
            self.init(bytes: 0)
            return
        }
        // What was written is not repeated: it may be anything.
        throw VaultError(.invalidArgument, Self.advice(for: decoder.codingPath.last?.stringValue ?? "it") + "; correct it")
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(bytes.map { "\($0)B" } ?? Self.standardWord)
    }
}
