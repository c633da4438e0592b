/// A number of bytes as people write it: `1048576`, `200MiB` (powers of 1024), `2GB` (powers of 1000).
enum SizeArgument {
    private static let units: [(suffix: String, factor: Int64)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
        ("kB", 1000), ("KB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000), ("B", 1),
    ]

    /// - Parameter option: what the error names.
    static func parse(_ text: String, _ option: String) throws -> Int64 {
        let unit = units.first { text.hasSuffix($0.suffix) } ?? ("", 1)
        guard let bytes = Quantity.parse(text.dropLast(unit.suffix.count), times: unit.factor) else {
            throw UsageError("\(option) is a number of bytes: 1048576, 200MiB or 2GB")
        }
        return bytes
    }
}
