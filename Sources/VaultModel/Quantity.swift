/// Sizes, rates and durations as people write and read them, with a unit: `200MiB`, `40Mbit/s`, `90d`.
///
/// Foundation parses measurements only according to a locale, and accepts signs.
package enum Quantity {
    /// A unit: the suffix that follows the digits, and the factor by which the number is multiplied.
    package typealias Unit = (suffix: String, factor: Int64)

    /// Units of time, in seconds.
    package static let times: [Unit] = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)]

    /// Units of size, in bytes, for sizes that are printed in a form that can be typed in again.
    package static let sizes: [Unit] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
        ("kB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000), ("B", 1),
    ]

    /// Returns the number multiplied by its unit's factor; nil if `text` is not digits followed by a unit, or if the
    /// product exceeds `most`.
    ///
    /// - Parameter units: the possible units. If one suffix ends with another, the longer one must come first.
    package static func parse(_ text: some StringProtocol, in units: [Unit], upTo most: Int64 = .max) -> Int64? {
        guard let unit = units.first(where: { text.hasSuffix($0.suffix) }) else { return nil }
        let digits = text.dropLast(unit.suffix.count)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(digits)
        else { return nil }
        let (product, overflow) = count.multipliedReportingOverflow(by: unit.factor)
        return overflow || product > most ? nil : product
    }

    /// Returns an amount other than 0 as a multiple of the largest unit that divides it; of equal units, the first.
    package static func text(_ amount: Int64, in units: [Unit]) -> String {
        let exact = units.filter { amount.isMultiple(of: $0.factor) }
        let largest = exact.map(\.factor).max() ?? 1
        return "\(amount / largest)\(exact.first { $0.factor == largest }?.suffix ?? "")"
    }

    /// Returns a readable number of bytes, such as `999 B` or `12.3 MB`, in powers of ten and rounded down.
    package static func readable(bytes count: Int64) -> String {
        guard count >= 1000 else { return "\(count) B" }
        var unit: Int64 = 1000
        var names = ["kB", "MB", "GB", "TB", "PB", "EB"][...]
        while names.count > 1, count / 1000 >= unit {
            unit *= 1000
            names.removeFirst()
        }
        let tenths = count / (unit / 10)
        return "\(tenths / 10).\(tenths % 10) \(names[names.startIndex])"
    }
}

extension Quantity {
    /// Returns the number of bytes that a size denotes; nil if the text is not a size.
    ///
    /// The number may have a fraction and be followed by a space, and case does not matter: `500M`, `500 MB`, `10m`,
    /// `1.5GiB`, `5B`, `5 bytes`. `k` and `kB` are powers of 1000, `Ki` and `KiB` powers of 1024. A bare number other
    /// than 0 is not a size, because its unit is unclear.
    package static func size(_ text: some StringProtocol, upTo most: Int64 = ContentInformation.maxBytes) -> Int64? {
        guard let (number, unit) = parts(of: text) else { return nil }
        if text == "0" { return 0 }
        return factor(ofBytes: unit).flatMap { amount(number, times: $0, per: 1, upTo: most) }
    }

    /// Returns the number of bytes per second that a rate denotes; nil if the text is not a rate.
    ///
    /// A rate is a size, with or without `/s`, or is stated in bits: `5M`, `5MB/s`, `5 MBps`, `40Mbit/s`, `40Mbps`.
    /// `40Mb/s` is not a rate, because some people read it as bits and others as bytes.
    package static func rate(_ text: some StringProtocol, upTo most: Int64 = ContentInformation.maxBytes) -> Int64? {
        guard let (number, spelling) = parts(of: text) else { return nil }
        var unit = spelling
        let time = ["/sec", "/s", "ps"].first { unit.lowercased().hasSuffix($0) }
        unit = unit.dropLast(time?.count ?? 0)
        if let bits = ["bits", "bit"].first(where: { unit.lowercased().hasSuffix($0) }) {
            unit = unit.dropLast(bits.count)
            return factor(ofPrefix: unit).flatMap { amount(number, times: $0, per: 8, upTo: most) }
        }
        guard unit.last == "b" else {
            guard time != "ps" || unit.last == "B" else { return nil }
            return factor(ofBytes: unit).flatMap { amount(number, times: $0, per: 1, upTo: most) }
        }
        guard time == "ps" else { return nil }
        return factor(ofPrefix: unit.dropLast()).flatMap { amount(number, times: $0, per: 8, upTo: most) }
    }

    /// Splits text into the leading digits, with their decimal point, and the unit after them.
    private static func parts(of text: some StringProtocol) -> (number: Substring, unit: Substring)? {
        let text = Substring(text)
        let number = text.prefix { $0 == "." || ($0.isASCII && $0.isNumber) }
        return number.isEmpty ? nil : (number, text[number.endIndex...].drop { $0 == " " })
    }

    private static func factor(ofBytes unit: Substring) -> Int64? {
        for word in ["bytes", "byte", "b"] where unit.lowercased().hasSuffix(word) {
            return factor(ofPrefix: unit.dropLast(word.count))
        }
        return unit.isEmpty ? nil : factor(ofPrefix: unit)
    }

    /// Returns the factor that a prefix such as `k`, `M` or `Gi` denotes; 1 for an empty prefix.
    private static func factor(ofPrefix prefix: Substring) -> Int64? {
        let letters = prefix.lowercased()
        guard let first = letters.first else { return 1 }
        guard let power = ["k", "m", "g", "t", "p"].firstIndex(of: first), ["", "i"].contains(letters.dropFirst())
        else { return nil }
        let base: Int64 = letters.count == 2 ? 1024 : 1000
        return (0...power).reduce(1) { product, _ in product * base }
    }

    /// Returns `number` × `factor` ÷ `divisor`, rounded down; nil if it exceeds `most`, or is 0 only through rounding.
    private static func amount(
        _ number: Substring, times factor: Int64, per divisor: Int64, upTo most: Int64
    ) -> Int64? {
        let parts = number.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let fraction = parts.count == 2 ? parts[1] : "0"
        guard let whole = parts[0].isEmpty && parts.count == 2 ? 0 : Int64(parts[0]), let tail = Int64(fraction),
            fraction.count <= 18
        else { return nil }
        let scale = (0..<fraction.count).reduce(Int64(1)) { product, _ in product * 10 }
        let (product, overflow) = whole.multipliedReportingOverflow(by: factor)
        // The quotient is less than the factor, because the tail is less than its scale.
        let rest = scale.dividingFullWidth(tail.multipliedFullWidth(by: factor)).quotient
        let (sum, isTooMuch) = product.addingReportingOverflow(rest)
        guard !overflow, !isTooMuch, sum / divisor <= most else { return nil }
        return sum >= divisor || (whole == 0 && tail == 0) ? sum / divisor : nil
    }
}
