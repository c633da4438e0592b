/// One line of a playlist.
struct HLSLine {
    /// The number of the line, from 1.
    let number: Int
    /// The text, without the white space around it.
    let content: Range<Int>
    /// The line with its end.
    let whole: Range<Int>
}

/// Reads the lines of a playlist, each once, from the first to the last.
///
/// A carriage return alone ends a line, too: some players read it like that, so what follows it may be a URI.
struct HLSLines {
    private let bytes: [UInt8]
    private let maxLineBytes: Int
    private var position: Int
    private var number = 0

    /// Checks that the bytes are text.
    ///
    /// - Throws: ``ManifestError/tooLarge(limit:)``, ``ManifestError/notText(line:)``.
    init(_ bytes: [UInt8], _ limits: ManifestLimits) throws(ManifestError) {
        guard bytes.count <= limits.maxBytes else { throw .tooLarge(limit: limits.maxBytes) }
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: bytes.span)
        } catch {
            throw .notText(line: 1 + bytes[..<error.byteOffsets.lowerBound].count { $0 == UInt8(ascii: "\n") })
        }
        self.bytes = bytes
        maxLineBytes = limits.maxLineBytes
        position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    }

    /// Returns the next line; nil at the end.
    ///
    /// - Throws: ``ManifestError/notText(line:)`` for a control character, which ends a line for some players, as do the
    ///   line separators of Unicode; ``ManifestError/lineTooLong(line:limit:)``.
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

    /// Returns whether U+0085, U+2028 or U+2029 stands here: a script sees the end of a line in it.
    private func isSeparator(at index: Int) -> Bool {
        let next = bytes[(index + 1)...].prefix(2)
        return next.first == 0x85 && bytes[index] == 0xC2
            || next.first == 0x80 && bytes[index] == 0xE2 && next.last.map { $0 & 0xFE } == 0xA8
    }
}

extension [UInt8] {
    /// Returns the range without the spaces and tabs at its ends.
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
