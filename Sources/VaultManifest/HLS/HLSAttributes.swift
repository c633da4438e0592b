import VaultModel

/// An attribute list, such as `NAME=value,NAME="value"` (RFC 8216 §4.2).
///
/// Players read a malformed list differently: some end a value at a space, and others let a backslash escape a
/// quotation mark. An attribute that only some of them see could make a player bypass the vault, so ``isClear`` states
/// whether all of them read the list alike.
struct HLSAttributes: Sendable {
    /// An attribute, given as ranges of the playlist's bytes.
    struct Attribute: Sendable {
        let name: Range<Int>
        /// The value, without quotation marks.
        let value: Range<Int>
        let isQuoted: Bool
        /// The whole attribute, without the commas around it.
        let whole: Range<Int>
    }

    /// The maximum number of attributes that are read, limited because each name is compared with all others.
    private static let most = 64

    private let bytes: [UInt8]
    private let range: Range<Int>
    private(set) var list: [Attribute] = []
    /// Whether every player reads the list alike: all quotation marks are closed, nothing stands between attributes,
    /// and no attribute is repeated.
    private(set) var isClear = true

    init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        self.range = range
        var index = range.lowerBound
        while index < range.upperBound, list.count < Self.most {
            if let attribute = attribute(&index, range.upperBound) { add(attribute) }
            // The comma is skipped.
            index += 1
        }
        if index < range.upperBound { isClear = false }
    }

    /// Returns the first attribute with this name, ignoring case.
    subscript(name: String) -> Attribute? { list.first { isNamed($0, name) } }

    /// Returns the index of the first attribute with this name, ignoring case.
    func index(of name: String) -> Int? { list.firstIndex { isNamed($0, name) } }

    /// Returns an attribute's name in upper case.
    func name(of attribute: Attribute) -> String { String(decoding: bytes[attribute.name], as: UTF8.self).uppercased() }

    /// Returns whether the list contains a string anywhere, ignoring case, even if the list is malformed.
    func mentions(_ text: String) -> Bool {
        range.contains { first in
            bytes[first..<range.upperBound].starts(with: text.utf8) { $0.asciiLowercased == $1.asciiLowercased }
        }
    }

    /// Returns the bytes of an attribute's value.
    func bytes(of attribute: Attribute) -> ArraySlice<UInt8> { bytes[attribute.value] }

    /// Returns the bytes of a whole attribute.
    func bytes(at index: Int) -> [UInt8] { Array(bytes[list[index].whole]) }

    /// Returns the ranges to cut to remove the attributes at these indices. The remaining list neither begins nor ends
    /// with a comma.
    func cuts(without indices: Set<Int>) -> [Range<Int>] {
        var cuts: [Range<Int>] = []
        var index = 0
        while index < list.count {
            guard indices.contains(index) else {
                index += 1
                continue
            }
            let first = index
            while index < list.count, indices.contains(index) { index += 1 }
            let isAtEnd = index == list.count
            let low = isAtEnd && first > 0 ? list[first - 1].whole.upperBound : list[first].whole.lowerBound
            cuts.append(low..<(isAtEnd ? list[index - 1].whole.upperBound : list[index].whole.lowerBound))
        }
        return cuts
    }

    /// Reads the attribute at `index`, up to the comma that follows it; nil if there is no attribute.
    private mutating func attribute(_ index: inout Int, _ end: Int) -> Attribute? {
        let first = index
        while index < end, bytes[index] != UInt8(ascii: "="), bytes[index] != UInt8(ascii: ",") { index += 1 }
        let name = bytes.trimmingBlanks(first..<index)
        guard index < end, bytes[index] == UInt8(ascii: "=") else {
            isClear = isClear && name.isEmpty
            return nil
        }
        if name.isEmpty || !bytes[name].allSatisfy(Self.isNameByte) { isClear = false }
        index += 1
        guard index < end, bytes[index] == UInt8(ascii: "\"") else {
            let value = plainValue(&index, end)
            return Attribute(name: name, value: value, isQuoted: false, whole: name.lowerBound..<value.upperBound)
        }
        let value = quotedValue(&index, end)
        let whole = name.lowerBound..<index
        while index < end, bytes[index] != UInt8(ascii: ",") {
            if !bytes.trimmingBlanks(index..<(index + 1)).isEmpty { isClear = false }
            index += 1
        }
        return Attribute(name: name, value: value, isQuoted: true, whole: whole)
    }

    private mutating func plainValue(_ index: inout Int, _ end: Int) -> Range<Int> {
        let first = index
        while index < end, bytes[index] != UInt8(ascii: ",") { index += 1 }
        let value = bytes.trimmingBlanks(first..<index)
        // White space at the end is common, and every player ends the value before it.
        let marks: [UInt8] = [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\"")]
        if value.lowerBound > first, !value.isEmpty { isClear = false }
        if bytes[value].contains(where: marks.contains) { isClear = false }
        return value.isEmpty ? first..<first : value
    }

    private mutating func quotedValue(_ index: inout Int, _ end: Int) -> Range<Int> {
        index += 1
        let first = index
        while index < end, bytes[index] != UInt8(ascii: "\"") { index += 1 }
        let value = first..<index
        // For some players, a backslash before the closing quotation mark escapes it.
        if index == end || (!value.isEmpty && bytes[index - 1] == UInt8(ascii: "\\")) { isClear = false }
        index = min(index + 1, end)
        return value
    }

    private mutating func add(_ attribute: Attribute) {
        if list.contains(where: { hasSameName($0, attribute) }) { isClear = false }
        list.append(attribute)
    }

    private func hasSameName(_ one: Attribute, _ other: Attribute) -> Bool {
        bytes[one.name].elementsEqual(bytes[other.name]) { $0.asciiLowercased == $1.asciiLowercased }
    }

    private func isNamed(_ attribute: Attribute, _ name: String) -> Bool {
        bytes[attribute.name].elementsEqual(name.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
        default: false
        }
    }
}
