/// One line of a playlist.
struct HLSLine {
    /// The line's number, counted from 1.
    let number: Int
    /// The line's text, without the white space around it.
    let content: Range<Int>
    /// The line, including its line break.
    let whole: Range<Int>
}

/// Reads the lines of a playlist in order, each once.
///
/// A lone carriage return also ends a line. Some players read it that way, so the text after it may be a URI.
struct HLSLines {
    /// The playlist as valid text; see ``mended(_:_:)``.
    let bytes: [UInt8]
    private let maxLineBytes: Int
    private var position: Int
    private var number = 0

    /// - Throws: as ``mended(_:_:)``.
    init(_ bytes: [UInt8], _ limits: ManifestLimits) throws(ManifestError) {
        self.bytes = try Self.mended(bytes, limits)
        maxLineBytes = limits.maxLineBytes
        position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    }

    /// Returns the next line; nil at the end of the playlist.
    ///
    /// - Throws: ``ManifestError/notText(line:)`` for a control character, and ``ManifestError/malformed(line:_:)`` for
    ///   a Unicode line separator, because some players end a line at either;
    ///   ``ManifestError/lineTooLong(line:limit:)``.
    mutating func next() throws(ManifestError) -> HLSLine? {
        guard position < bytes.count else { return nil }
        number += 1
        let first = position
        while position < bytes.count, bytes[position] != UInt8(ascii: "\n"), bytes[position] != UInt8(ascii: "\r") {
            switch bytes[position] {
            case UInt8(ascii: "\t"): break
            case 0..<0x20: throw .notText(line: number)
            case 0xC2 where isSeparator(at: position), 0xE2 where isSeparator(at: position):
                throw .malformed(line: number, .lineSeparator)
            default: break
            }
            position += 1
        }
        guard position - first <= maxLineBytes else { throw .lineTooLong(line: number, limit: maxLineBytes) }
        let content = bytes.trimmingBlanks(first..<position)
        if position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\r"), bytes[position + 1] == UInt8(ascii: "\n")
        {
            position += 1
        }
        position = min(position + 1, bytes.count)
        return HLSLine(number: number, content: content, whole: first..<position)
    }

    /// Returns whether U+0085, U+2028 or U+2029 begins at an index. Scripts treat each of them as the end of a line.
    private func isSeparator(at index: Int) -> Bool {
        let next = bytes[(index + 1)...].prefix(2)
        return next.first == 0x85 && bytes[index] == 0xC2
            || next.first == 0x80 && bytes[index] == 0xE2 && next.last.map { $0 & 0xFE } == 0xA8
    }
}

// Repairs lists in Latin-1, and titles with bytes that a tagging program left in them.
extension HLSLines {
    /// Returns a playlist in which U+FFFD replaces invalid text in tags and comments, and any characters there that
    /// would end a line for some players. Players accept such text, too.
    ///
    /// - Throws: ``ManifestError/notText(line:)`` if the first line or a URI is not UTF-8;
    ///   ``ManifestError/tooLarge(limit:)``.
    private static func mended(_ bytes: [UInt8], _ limits: ManifestLimits) throws(ManifestError) -> [UInt8] {
        guard bytes.count <= limits.maxBytes else { throw .tooLarge(limit: limits.maxBytes) }
        guard !bytes.allSatisfy(isPlain) else { return bytes }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var (number, start) = (1, 0)
        while start < bytes.count {
            let end = bytes[start...].firstIndex(where: isEnd) ?? bytes.count
            let line = bytes[start..<end]
            if line.allSatisfy(isPlain) {
                result += line
            } else if number > 1, bytes[bytes.trimmingBlanks(start..<end)].first == UInt8(ascii: "#") {
                let scalars = String(decoding: line, as: UTF8.self).unicodeScalars.map { isBreak($0) ? mark : $0 }
                result += String(String.UnicodeScalarView(scalars)).utf8
            } else {
                guard String(validating: line, as: UTF8.self) != nil else { throw .notText(line: number) }
                result += line
            }
            guard result.count <= limits.maxBytes else { throw .tooLarge(limit: limits.maxBytes) }
            let isPair = bytes[end...].starts(with: "\r\n".utf8)
            start = min(end + (isPair ? 2 : 1), bytes.count)
            result += bytes[end..<start]
            number += 1
        }
        return result
    }

    /// Returns whether a URI contained invalid text, in which case players differ in what they request.
    static func isMended(_ uri: ArraySlice<UInt8>) -> Bool {
        uri.contains(0xEF) && String(decoding: uri, as: UTF8.self).unicodeScalars.contains(mark)
    }

    private static let mark: Unicode.Scalar = "\u{FFFD}"

    private static func isPlain(_ byte: UInt8) -> Bool { (0x20..<0x80).contains(byte) || byte == 0x09 || isEnd(byte) }

    private static func isEnd(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }

    private static func isBreak(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 && scalar != "\t" || scalar == "\u{85}" || scalar == "\u{2028}" || scalar == "\u{2029}"
    }
}

extension [UInt8] {
    /// Returns a range without the spaces and tabs at its ends.
    func trimmingBlanks(_ range: Range<Int>) -> Range<Int> {
        var (low, high) = (range.lowerBound, range.upperBound)
        while low < high, isBlank(at: low) { low += 1 }
        while low < high, isBlank(at: high - 1) { high -= 1 }
        return low..<high
    }

    private func isBlank(at index: Int) -> Bool {
        self[index] == UInt8(ascii: " ") || self[index] == UInt8(ascii: "\t")
    }
}
