/// A strict JSON parser (RFC 8259).
///
/// The parser rejects repeated members, text after the value, and deep nesting. Foundation's parsers silently keep one
/// of two members with the same name, but a keyring that two readers understand differently must be an error.
package struct JSONParser {
    /// A syntax error at a byte offset.
    package struct Failure: Error {
        package let offset: Int
        /// The name of the member that its object has twice; nil for every other error.
        package var repeated: String?
    }

    /// The numbers that a parser accepts.
    package enum Numbers: Sendable {
        /// Integers from 0 to 2⁵³ − 1, which are all that the vault writes.
        case written
        /// All 64-bit integers, and all other numbers in the range of `Double`, which is what clients may send.
        case all
    }

    private let bytes: [UInt8]
    private let numbers: Numbers
    private var position = 0
    private static let deepest = 32

    /// Parses one value from UTF-8 bytes. White space is allowed around it.
    package static func parse(_ bytes: [UInt8], numbers: Numbers = .written) throws(Failure) -> JSONValue {
        var parser = JSONParser(bytes: bytes, numbers: numbers)
        let value = try parser.value(depth: 0)
        parser.skipBlanks()
        guard parser.position == bytes.count else { throw parser.failure }
        return value
    }

    private init(bytes: [UInt8], numbers: Numbers) { (self.bytes, self.numbers) = (bytes, numbers) }

    private var failure: Failure { Failure(offset: position) }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipBlanks()
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func value(depth: Int) throws(Failure) -> JSONValue {
        skipBlanks()
        guard depth < Self.deepest, let byte = next else { throw failure }
        switch byte {
        case UInt8(ascii: "{"): return .object(try object(depth: depth))
        case UInt8(ascii: "["): return .array(try array(depth: depth))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            return numbers == .all ? try number() : .integer(try integer())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: throw failure
        }
    }

    private mutating func word(_ word: String, _ value: JSONValue) throws(Failure) -> JSONValue {
        guard bytes[position...].starts(with: word.utf8) else { throw failure }
        position += word.utf8.count
        return value
    }

    private mutating func integer() throws(Failure) -> Int64 {
        let first = position
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        let digits = bytes[first..<position]
        guard digits.count == 1 || digits.first != UInt8(ascii: "0"),
            let value = Int64(String(decoding: digits, as: UTF8.self)), value <= JSONValue.largestInteger
        else { throw failure }
        return value
    }

    private mutating func number() throws(Failure) -> JSONValue {
        let first = position
        if next == UInt8(ascii: "-") { position += 1 }
        guard let digit = next, try skipDigits() == 1 || digit != UInt8(ascii: "0") else { throw failure }
        if next == UInt8(ascii: ".") {
            position += 1
            _ = try skipDigits()
        }
        if let letter = next, letter | 0x20 == UInt8(ascii: "e") {
            position += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
            _ = try skipDigits()
        }
        let text = String(decoding: bytes[first..<position], as: UTF8.self)
        if let integer = Int64(text) { return .integer(integer) }
        // A number that is too small or too large for `Double` would be read as another one.
        let isZero = text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }.allSatisfy { !(0x31...0x39).contains($0) }
        guard let value = Double(text), value.isFinite, isZero == (value == 0) else { throw failure }
        // So would an integer beyond those that `Double` represents exactly.
        guard value.magnitude <= Double(JSONValue.largestInteger), let integer = Int64(exactly: value) else {
            return .fraction(value)
        }
        return .integer(integer)
    }

    /// Consumes one or more digits, and returns how many there were.
    private mutating func skipDigits() throws(Failure) -> Int {
        let first = position
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        guard position > first else { throw failure }
        return position - first
    }

    private mutating func array(depth: Int) throws(Failure) -> [JSONValue] {
        position += 1
        var values: [JSONValue] = []
        if take(UInt8(ascii: "]")) { return values }
        repeat { values.append(try value(depth: depth + 1)) } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw failure }
        return values
    }

    private mutating func object(depth: Int) throws(Failure) -> [String: JSONValue] {
        position += 1
        var members: [String: JSONValue] = [:]
        if take(UInt8(ascii: "}")) { return members }
        repeat {
            skipBlanks()
            guard next == UInt8(ascii: "\"") else { throw failure }
            let name = try string()
            guard members[name] == nil else { throw Failure(offset: position, repeated: name) }
            guard take(UInt8(ascii: ":")) else { throw failure }
            members[name] = try value(depth: depth + 1)
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw failure }
        return members
    }

    private mutating func string() throws(Failure) -> String {
        position += 1
        var content = plainRun()
        if next == UInt8(ascii: "\""), content.allSatisfy({ $0 < 0x80 }) {
            position += 1
            return String(decoding: content, as: UTF8.self)
        }
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: content, as: UTF8.self) else { throw failure }
                return text
            case UInt8(ascii: "\\"): content += Array(String(try escape()).utf8)
            case 0..<0x20: throw failure
            default: content.append(byte)
            }
        }
        throw failure
    }

    /// Consumes the bytes up to the next one with a special meaning in a string.
    private mutating func plainRun() -> [UInt8] {
        let first = position
        while let byte = next, byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") { position += 1 }
        return Array(bytes[first..<position])
    }

    private mutating func escape() throws(Failure) -> Unicode.Scalar {
        guard let byte = next else { throw failure }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try scalar()
        default: throw failure
        }
    }

    private mutating func scalar() throws(Failure) -> Unicode.Scalar {
        let high = try codeUnit()
        if let scalar = Unicode.Scalar(high) { return scalar }
        guard (0xD800..<0xDC00).contains(high), bytes[position...].starts(with: "\\u".utf8) else { throw failure }
        position += 2
        let low = try codeUnit()
        guard (0xDC00..<0xE000).contains(low),
            let scalar = Unicode.Scalar(0x10000 + (UInt32(high) - 0xD800) << 10 + (UInt32(low) - 0xDC00))
        else { throw failure }
        return scalar
    }

    private mutating func codeUnit() throws(Failure) -> UInt16 {
        let digits = bytes[position...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let value = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw failure }
        position += 4
        return value
    }
}
