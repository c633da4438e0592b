/// A URL template from a `SegmentTemplate` (ISO/IEC 23009-1 §5.3.9.4.4), which is text with identifiers between dollar
/// signs.
struct DASHTemplate: Sendable {
    /// The values that replace identifiers.
    struct Values {
        /// The text of `Representation@id`.
        var id = ""
        /// The text of `Representation@bandwidth`.
        var bandwidth = ""
        var number: Int64 = 1
        var time: Int64 = 0
        var part: Int64 = 1
    }

    private enum Piece: Sendable {
        case text(String)
        case id
        case bandwidth(width: Int)
        case number(width: Int)
        case time(width: Int)
        case part(width: Int)
    }

    /// The maximum width of an identifier's number. Any digits beyond those of a 64-bit number would only be zeros.
    static let maxWidth = 32

    private var pieces: [Piece] = []
    /// The text of the template.
    let text: String
    /// Whether any width exceeds ``maxWidth``.
    private(set) var isTooWide = false

    /// Parses a template. Like players, it keeps text that is not an identifier.
    init(_ text: String) {
        self.text = text
        var literal = ""
        var parts = text.split(separator: "$", omittingEmptySubsequences: false)[...]
        literal += parts.popFirst() ?? ""
        // The parts that follow are alternately inside and outside a pair of dollar signs.
        while let inside = parts.popFirst() {
            guard let outside = parts.popFirst() else {
                literal += "$" + inside
                break
            }
            if inside.isEmpty {
                literal += "$"
            } else if let piece = identifier(inside) {
                if !literal.isEmpty { pieces.append(.text(literal)) }
                literal = ""
                pieces.append(piece)
            } else {
                literal += "$" + inside + "$"
            }
            literal += outside
        }
        if !literal.isEmpty { pieces.append(.text(literal)) }
    }

    private mutating func identifier(_ text: Substring) -> Piece? {
        if text == "RepresentationID" { return .id }
        let parts = text.split(separator: "%", omittingEmptySubsequences: false)
        guard let name = parts.first, parts.count <= 2 else { return nil }
        var width = 1
        if parts.count == 2 {
            let format = parts[1].utf8
            guard format.first == UInt8(ascii: "0"), format.last == UInt8(ascii: "d"), format.count > 2,
                format.dropFirst().dropLast().allSatisfy({ (0x30...0x39).contains($0) })
            else { return nil }
            width = Int(parts[1].dropFirst().dropLast()) ?? .max
            if width > Self.maxWidth { isTooWide = true }
        }
        switch name {
        case "Bandwidth": return .bandwidth(width: width)
        case "Number": return .number(width: width)
        case "Time": return .time(width: width)
        case "SubNumber": return .part(width: width)
        default: return nil
        }
    }

    /// Whether the template names the same file for all values.
    var isConstant: Bool {
        pieces.allSatisfy { if case .text = $0 { true } else { false } }
    }

    /// Whether the template names a different file for each part of a segment.
    var hasParts: Bool {
        pieces.contains { if case .part = $0 { true } else { false } }
    }

    /// The text before the first identifier, up to its last slash. The rest of the template is a path within that
    /// folder.
    ///
    /// A slash in a query does not end a folder.
    var folder: Substring {
        let fixed = text.prefix { $0 != "$" && $0 != "?" && $0 != "#" }
        return fixed[
            ..<(fixed.utf8.lastIndex(of: UInt8(ascii: "/")).map { fixed.utf8.index(after: $0) }
                ?? fixed.startIndex)]
    }

    /// Returns the reference that the template yields for the given values.
    func filled(_ values: Values) -> String {
        var result = ""
        for piece in pieces {
            switch piece {
            case .text(let text): result += text
            case .id: result += values.id
            case .bandwidth(let width): Self.pad(values.bandwidth, width, &result)
            case .number(let width): Self.pad(String(values.number), width, &result)
            case .time(let width): Self.pad(String(values.time), width, &result)
            case .part(let width): Self.pad(String(values.part), width, &result)
            }
        }
        return result
    }

    private static func pad(_ digits: String, _ width: Int, _ result: inout String) {
        for _ in 0..<max(0, min(width, maxWidth) - digits.utf8.count) { result += "0" }
        result += digits
    }

    /// Returns a template that yields exactly this text.
    static func escaping(_ text: String) -> String { text.replacing("$", with: "$$") }
}
