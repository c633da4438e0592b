/// Lists of languages, which are RFC 5646 tags. As text, the tags are separated by commas.
package enum LanguageList {
    private static let maxCount = 64
    /// The length in bytes of the longest tag that implementations must expect (RFC 5646 §4.4.1).
    private static let maxBytes = 35

    /// Returns the languages in a list, in which `*` stands for any language or any part of a tag; nil if the text is not
    /// a list of languages.
    package static func languages(in text: String) -> [String]? {
        let languages = text.split(separator: ",", omittingEmptySubsequences: false).map { String($0.trimmingBlanks()) }
        return languages.count <= maxCount && languages.allSatisfy(isRange) ? languages : nil
    }

    /// Checks languages that people set.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if one of them is not a tag, or if there are too many.
    package static func check(_ languages: [String]) throws {
        guard languages.count <= maxCount, languages.allSatisfy(isTag) else {
            throw VaultError(.invalidArgument, "languages must be tags such as de or en-GB, at most \(maxCount)")
        }
    }

    /// Returns whether a text has the form of a language's tag.
    package static func isTag(_ text: String) -> Bool {
        (1...maxBytes).contains(text.utf8.count) && text.utf8.allSatisfy(isTagByte)
    }

    /// Returns whether a text has the form of a language range (RFC 4647 §2.2).
    private static func isRange(_ text: String) -> Bool {
        (1...maxBytes).contains(text.utf8.count) && text.utf8.allSatisfy { isTagByte($0) || $0 == UInt8(ascii: "*") }
    }

    private static func isTagByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"): true
        default: false
        }
    }
}
