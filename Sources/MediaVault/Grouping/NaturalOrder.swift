import Foundation

/// The order of names as people expect it: without case and accents, and with numbers as numbers.
package enum NaturalOrder {
    /// The maximum number of bytes of a name that are compared.
    package static let maxBytes = 512

    /// Returns the beginning of a name in a form whose bytes sort in that order. Each number is preceded by its number
    /// of digits, so that 9 comes before 10.
    package static func comparable(_ name: String) -> String {
        let isPlain = name.utf8.allSatisfy { $0 < 0x80 }
        let folded = isPlain ? name : name.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
        var bytes: [UInt8] = []
        var digits: [UInt8] = []
        func endNumber() {
            guard !digits.isEmpty else { return }
            let number = digits.drop { $0 == 0x30 }
            bytes.append(0x30 + UInt8(min(number.count, 9)))
            bytes += number
            digits = []
        }
        for byte in folded.utf8 {
            if (0x30...0x39).contains(byte) {
                digits.append(byte)
            } else {
                endNumber()
                bytes.append((0x41...0x5A).contains(byte) ? byte + 0x20 : byte)
            }
        }
        endNumber()
        var beginning = bytes.prefix(maxBytes)
        // A truncated character is removed, because its remaining bytes would be read as a different one.
        while !beginning.isEmpty, String(validating: beginning, as: UTF8.self) == nil { beginning.removeLast() }
        return String(decoding: beginning, as: UTF8.self)
    }
}
