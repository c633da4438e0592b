/// The form in which the vault stores names of titles, of chapters, and of those who made them.
package enum MediaName {
    /// The maximum number of characters.
    package static let maxLength = 200
    /// The maximum number of bytes: a character may have any number of combining accents.
    private static let maxBytes = 4 * maxLength

    /// Returns a name as one line, without control characters, and without those that turn the direction of the text
    /// around them; nil if nothing is left.
    package static func cleaned(_ name: String) -> String? {
        let scalars = name.unicodeScalars.lazy.filter { !turnsDirection($0) }.map { endsWord($0) ? " " : $0 }
        let text = String(String.UnicodeScalarView(scalars)).split(separator: " ").joined(separator: " ")
        var kept = text.prefix(maxLength)
        while kept.utf8.count > maxBytes { kept = kept.dropLast() }
        return kept.isEmpty ? nil : String(kept)
    }

    private static func endsWord(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        return [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
    }

    /// Returns whether a character embeds, overrides or isolates text of another direction (Unicode UAX #9 §2). The
    /// marks of Hebrew and Arabic, which only say which direction their own place has, are kept.
    private static func turnsDirection(_ scalar: Unicode.Scalar) -> Bool {
        ("\u{202A}"..."\u{202E}").contains(scalar) || ("\u{2066}"..."\u{2069}").contains(scalar)
    }
}
