import Foundation

/// Decodes feeds, given the encoding names that origins and XML prologs use.
enum FeedCharset {
    /// A decoded text.
    struct Decoded {
        /// The text in UTF-8.
        let bytes: [UInt8]
        /// The name of the original encoding, to show to users.
        let name: String
    }

    /// Decodes a text whose encoding represents each ASCII character as one byte.
    ///
    /// - Parameter name: the stated name of the encoding, in any spelling.
    /// - Returns: nil if the encoding is unknown, or if the bytes are not valid text in it.
    static func decode(_ bytes: ArraySlice<UInt8>, as name: String) -> Decoded? {
        let label = name.lowercased().replacing("_", with: "-").filter { !$0.isWhitespace && $0 != "\"" && $0 != "'" }
        switch label {
        case "utf-8", "utf8", "unicode-1-1-utf-8", "us-ascii", "ascii": return utf8(bytes)
        case "iso-8859-1", "iso8859-1", "iso88591", "latin1", "latin-1", "l1", "windows-1252", "cp1252", "x-cp1252":
            return windows1252(bytes)
        default:
            guard let number = numbers[label] ?? numbered(label) else { return nil }
            // As Foundation documents, this bit marks an encoding number from Core Foundation.
            let encoding = String.Encoding(rawValue: 0x8000_0000 | number)
            guard let text = String(data: Data(bytes), encoding: encoding) else { return nil }
            return Decoded(bytes: Array(text.utf8), name: label)
        }
    }

    static func utf8(_ bytes: ArraySlice<UInt8>) -> Decoded? {
        String(validating: bytes, as: UTF8.self) == nil ? nil : Decoded(bytes: Array(bytes), name: "UTF-8")
    }

    /// Decodes any bytes as windows-1252, which differs from Latin-1 only where Latin-1 has control characters that no
    /// feed intends.
    static func windows1252(_ bytes: ArraySlice<UInt8>) -> Decoded {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count + bytes.count / 8)
        for byte in bytes {
            if byte < 0x80 { text.append(byte) } else { text += Character(scalar(ofWindows1252: byte)).utf8 }
        }
        return Decoded(bytes: text, name: "windows-1252")
    }

    /// Returns the character that a byte of at least 0x80 stands for in windows-1252.
    static func scalar(ofWindows1252 byte: UInt8) -> Unicode.Scalar {
        let place = Int(byte) - 0x80
        return controls.indices.contains(place) ? controls[place] : Unicode.Scalar(byte)
    }

    /// The characters that windows-1252 has in place of the control characters from 0x80 to 0x9F.
    private static let controls = Array(
        "€\u{FFFD}‚ƒ„…†‡ˆ‰Š‹Œ\u{FFFD}Ž\u{FFFD}\u{FFFD}‘’“”•–—˜™š›œ\u{FFFD}žŸ".unicodeScalars)

    /// Decodes UTF-16 or UTF-32.
    ///
    /// - Parameter width: the number of bytes in a code unit, which is 2 or 4.
    static func wide(_ bytes: ArraySlice<UInt8>, width: Int, isLittle: Bool) -> Decoded {
        let units = stride(from: bytes.startIndex, through: bytes.endIndex - width, by: width).map { start in
            let unit = bytes[start..<(start + width)]
            return (isLittle ? Array(unit.reversed()) : Array(unit)).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        let name = "UTF-\(width * 8)"
        if width == 2 {
            return Decoded(bytes: Array(String(decoding: units.map { UInt16($0) }, as: UTF16.self).utf8), name: name)
        }
        return Decoded(bytes: Array(String(decoding: units, as: UTF32.self).utf8), name: name)
    }

    /// Returns Core Foundation's number for an encoding whose name ends in a number, such as `iso-8859-15` or `cp1251`.
    private static func numbered(_ label: String) -> UInt? {
        let digits = label.reversed().prefix { $0.isNumber }.reversed()
        guard let number = UInt(String(digits)) else { return nil }
        switch label.dropLast(digits.count) {
        case "iso-8859-", "iso8859-": return (2...16).contains(number) && number != 12 ? 0x200 + number : nil
        case "windows-", "cp", "x-cp": return windows[number]
        default: return nil
        }
    }

    private static let windows: [UInt: UInt] = [
        850: 0x410, 855: 0x413, 874: 0x41D, 932: 0x420, 936: 0x632, 949: 0x422, 950: 0x423, 1250: 0x501, 1251: 0x502,
        1253: 0x503, 1254: 0x504, 1255: 0x505, 1256: 0x506, 1257: 0x507, 1258: 0x508,
    ]
    private static let numbers: [String: UInt] = [
        "latin2": 0x202, "latin-9": 0x20F, "latin9": 0x20F, "koi8-r": 0xA02, "koi8-u": 0xA08, "macintosh": 0,
        "mac": 0, "tis-620": 0x41D, "shift-jis": 0xA01, "sjis": 0xA01, "x-sjis": 0xA01, "windows-31j": 0x420,
        "iso-2022-jp": 0x820, "gb2312": 0x632, "gbk": 0x632, "gb18030": 0x632, "big5": 0xA03, "euc-kr": 0x940,
        "ks-c-5601-1987": 0x422,
    ]
}
