/// A reference to a character in markup, such as `&amp;`, `&#233;` or `&eacute;`.
///
/// The known names are those of XML and HTML 4. Definitions in a document type are never used.
struct CharacterReference {
    /// The kinds of references, by their meaning in XML.
    enum Kind { case plain, onlyHTML, control }

    let kind: Kind
    /// The text that the reference stands for; empty for a control character, because no feed intends one.
    let text: String
    /// The index after the reference's semicolon.
    let end: Int

    /// The maximum length of a reference after its `&`, in bytes, which is enough for the longest name.
    private static let maxBytes = 12

    /// Reads the reference that begins with the `&` at a given index.
    ///
    /// - Returns: nil if there is no reference, in which case the `&` stands for itself.
    init?(in bytes: [UInt8], at place: Int) {
        let body = bytes[(place + 1)...].prefix(Self.maxBytes)
        guard let semicolon = body.firstIndex(of: UInt8(ascii: ";")), semicolon > place + 1 else { return nil }
        let name = String(decoding: bytes[(place + 1)..<semicolon], as: UTF8.self)
        end = semicolon + 1
        if name.hasPrefix("#") {
            let digits = name.dropFirst()
            let isHex = digits.first == "x" || digits.first == "X"
            guard let number = isHex ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits) else { return nil }
            (kind, text) = Self.numbered(number)
        } else if let text = Self.ofXML[name] {
            (kind, self.text) = (.plain, text)
        } else if let scalar = Self.ofHTML[name] {
            (kind, text) = (.onlyHTML, String(Character(scalar)))
        } else {
            return nil
        }
    }

    /// Returns whether every HTML reader knows an entity name.
    static func isKnown(_ name: String) -> Bool { ofXML[name] != nil || ofHTML[name] != nil }

    private static func numbered(_ number: UInt32) -> (Kind, String) {
        // Pages in windows-1252 use the byte values of that encoding as character numbers.
        if let byte = UInt8(exactly: number), (0x80...0x9F).contains(byte) {
            return (.plain, String(Character(FeedCharset.scalar(ofWindows1252: byte))))
        }
        guard let scalar = Unicode.Scalar(number), number >= 0x20 || [0x9, 0xA, 0xD].contains(number) else {
            return (.control, "")
        }
        return (.plain, String(Character(scalar)))
    }

    private static let ofXML = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]

    private static let ofHTML: [String: Unicode.Scalar] = {
        // Invisible characters and spaces are written as escapes.
        var table: [String: Unicode.Scalar] = [
            "ensp": "\u{2002}", "emsp": "\u{2003}", "thinsp": "\u{2009}", "zwnj": "\u{200C}", "zwj": "\u{200D}",
            "lrm": "\u{200E}", "rlm": "\u{200F}",
        ]
        for (index, name) in latin.split(whereSeparator: \.isWhitespace).enumerated() {
            table[String(name)] = Unicode.Scalar(UInt8(160 + index))
        }
        for entry in others.split(whereSeparator: \.isWhitespace) {
            guard let scalar = entry.unicodeScalars.last else { continue }
            table[String(entry.dropLast(2))] = scalar
        }
        return table
    }()

    /// The names of the characters from U+00A0 to U+00FF, in order.
    private static let latin = """
        nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute
        micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring
        AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml
        times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil
        egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash
        ugrave uacute ucirc uuml yacute thorn yuml
        """

    /// The names of the other HTML 4 characters, each followed by a colon and the character.
    private static let others = """
        OElig:Œ oelig:œ Scaron:Š scaron:š Yuml:Ÿ fnof:ƒ circ:ˆ tilde:˜ Alpha:Α Beta:Β Gamma:Γ Delta:Δ Epsilon:Ε
        Zeta:Ζ Eta:Η Theta:Θ Iota:Ι Kappa:Κ Lambda:Λ Mu:Μ Nu:Ν Xi:Ξ Omicron:Ο Pi:Π Rho:Ρ Sigma:Σ Tau:Τ Upsilon:Υ
        Phi:Φ Chi:Χ Psi:Ψ Omega:Ω alpha:α beta:β gamma:γ delta:δ epsilon:ε zeta:ζ eta:η theta:θ iota:ι kappa:κ
        lambda:λ mu:μ nu:ν xi:ξ omicron:ο pi:π rho:ρ sigmaf:ς sigma:σ tau:τ upsilon:υ phi:φ chi:χ psi:ψ omega:ω
        thetasym:ϑ upsih:ϒ piv:ϖ ndash:– mdash:— lsquo:‘ rsquo:’ sbquo:‚ ldquo:“ rdquo:” bdquo:„ dagger:† Dagger:‡
        bull:• hellip:… permil:‰ prime:′ Prime:″ lsaquo:‹ rsaquo:› oline:‾ frasl:⁄ euro:€ image:ℑ weierp:℘ real:ℜ
        trade:™ alefsym:ℵ larr:← uarr:↑ rarr:→ darr:↓ harr:↔ crarr:↵ lArr:⇐ uArr:⇑ rArr:⇒ dArr:⇓ hArr:⇔ forall:∀
        part:∂ exist:∃ empty:∅ nabla:∇ isin:∈ notin:∉ ni:∋ prod:∏ sum:∑ minus:− lowast:∗ radic:√ prop:∝ infin:∞
        ang:∠ and:∧ or:∨ cap:∩ cup:∪ int:∫ there4:∴ sim:∼ cong:≅ asymp:≈ ne:≠ equiv:≡ le:≤ ge:≥ sub:⊂ sup:⊃ nsub:⊄
        sube:⊆ supe:⊇ oplus:⊕ otimes:⊗ perp:⊥ sdot:⋅ lceil:⌈ rceil:⌉ lfloor:⌊ rfloor:⌋ lang:〈 rang:〉 loz:◊ spades:♠
        clubs:♣ hearts:♥ diams:♦
        """
}
