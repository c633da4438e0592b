import MediaVault

/// The value of `--range`: `A-B` (first and last byte), `A-`, or `-N` (the last bytes), as HTTP writes one range.
enum RangeArgument {
    static func parse(_ text: String) throws -> RequestedRange {
        guard case .ranges(let ranges) = RangeHeader("bytes=" + text), ranges.count == 1 else {
            throw UsageError(
                "--range is one range: the first and the last byte as A-B, or A-, or -N for the last N bytes")
        }
        return ranges[0]
    }
}
