import ArgumentParser

/// Bytes in a second, as people write them: `500k`, `2M`, `1G`; powers of ten.
struct ByteRate: Hashable, Sendable, ExpressibleByArgument {
    let bytesPerSecond: Int64

    init?(argument: String) {
        let units: [Character: Int64] = ["k": 1000, "K": 1000, "M": 1_000_000, "G": 1_000_000_000]
        let unit = argument.last.flatMap { units[$0] }
        let digits = unit == nil ? argument[...] : argument.dropLast()
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(digits) else {
            return nil
        }
        let (rate, isTooLarge) = number.multipliedReportingOverflow(by: unit ?? 1)
        guard !isTooLarge, rate > 0 else { return nil }
        bytesPerSecond = rate
    }
}
