/// Percent-encoding as far as naming a resource needs it (RFC 3986 §2).
enum PercentEncoding {
    /// Undoes the escapes of unreserved characters, writes the others with upper-case digits, and escapes what may not
    /// stand in a URL. A `%` that begins no escape leaves all escapes as they are: one undone behind it could make it
    /// begin an escape of another text.
    static func normalizingPath(_ text: String) -> String {
        let bytes = Array(escapingIllegal(text).utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            guard bytes[index] == 0x25 else {
                result.append(bytes[index])
                index += 1
                continue
            }
            guard index + 2 < bytes.count, let high = hexValue(bytes[index + 1]), let low = hexValue(bytes[index + 2])
            else { return String(decoding: bytes, as: UTF8.self) }
            let byte = high << 4 | low
            if isUnreserved(byte) { result.append(byte) } else { result += [0x25, upperDigit(high), upperDigit(low)] }
            index += 3
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Writes every byte outside ASCII as an escape and keeps the rest.
    static func escapingNonASCII(_ bytes: some Sequence<UInt8>) -> String { escaping(bytes) { $0 >= 0x80 } }

    /// Writes the characters that RFC 3986 has no place for as escapes and keeps the rest.
    static func escapingIllegal(_ text: String) -> String {
        escaping(text.utf8) { $0 <= 0x20 || $0 >= 0x7F || #""<>\^`{|}"#.utf8.contains($0) }
    }

    private static func escaping(_ bytes: some Sequence<UInt8>, _ needsEscape: (UInt8) -> Bool) -> String {
        var result: [UInt8] = []
        for byte in bytes {
            if needsEscape(byte) {
                result += [0x25, upperDigit(byte >> 4), upperDigit(byte & 15)]
            } else {
                result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// The bytes that a text stands for; a `%` that begins no escape stands for itself.
    static func decoded(_ text: some StringProtocol) -> [UInt8] { decoded(Array(text.utf8)) }

    /// The bytes that others stand for.
    static func decoded(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == 0x25, index + 2 < bytes.count, let high = hexValue(bytes[index + 1]),
                let low = hexValue(bytes[index + 2])
            {
                result.append(high << 4 | low)
                index += 3
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return result
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
        default: false
        }
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        case 0x61...0x66: byte - 0x57
        default: nil
        }
    }

    private static func upperDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }
}
