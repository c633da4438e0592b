import Foundation

/// The format of a log line.
package enum LogFormat: String, CaseIterable, Sendable {
    /// `name=value` pairs. A value is in quotation marks if it needs them.
    case logfmt
    /// One JSON object.
    case json
}

/// A log event written as one line, with its time, level and message, followed by its fields ordered by name.
///
/// Whatever the event contains, it remains one line, because control characters, including bidirectional controls, are
/// escaped. Text without quotation marks is plain ASCII.
struct LogLine: Hashable, Sendable {
    /// The value of a field.
    enum Value: Hashable, Sendable {
        case text(String)
        case integer(Int64)
        case decimal(Double)
        case flag(Bool)

        init(_ value: any CustomStringConvertible) {
            switch value {
            case let value as Bool: self = .flag(value)
            case let value as Double where value.isFinite: self = .decimal(value)
            case let value as any BinaryInteger:
                self = Int64(exactly: value).map { .integer($0) } ?? .text("\(value)")
            default: self = .text("\(value)")
            }
        }
    }

    let time: Date
    let level: String
    let message: String
    var fields: [String: Value] = [:]

    /// Returns the line with its terminator.
    func bytes(as format: LogFormat) -> [UInt8] {
        let text =
            switch format {
            case .logfmt: members.map { "\($0.name)=\(Self.plain($0.value))" }.joined(separator: " ")
            case .json: "{" + members.map { "\"\($0.name)\":\(Self.json($0.value))" }.joined(separator: ",") + "}"
            }
        return Array((text + "\n").utf8)
    }

    /// The line's own members, followed by the event's fields. A field with the name of an own member is omitted.
    private var members: [(name: String, value: Value)] {
        let date = time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        let own: [(name: String, value: Value)] = [
            ("time", .text(date)), ("level", .text(level)), ("message", .text(message)),
        ]
        let fields = fields.map { (name: Self.name($0), value: $1) }
            .filter { field in !own.contains { $0.name == field.name } }
        return own + fields.sorted { $0.name < $1.name }
    }

    /// Returns a name in which any character other than letters, digits and the marks that both formats allow is
    /// replaced.
    private static func name(_ text: String) -> String {
        let name = text.map { $0.isASCII && ($0.isLetter || $0.isNumber || "_.-".contains($0)) ? $0 : "_" }
        return name.isEmpty ? "_" : String(name)
    }

    private static func plain(_ value: Value) -> String {
        guard case .text(let text) = value else { return number(value) }
        let isPlain = text.utf8.allSatisfy { (0x21..<0x7F).contains($0) && !#""=\"#.utf8.contains($0) }
        return isPlain && !text.isEmpty ? text : quoted(text)
    }

    private static func json(_ value: Value) -> String {
        guard case .text(let text) = value else { return number(value) }
        return quoted(text)
    }

    private static func number(_ value: Value) -> String {
        switch value {
        case .text(let text): text
        case .integer(let number): "\(number)"
        case .decimal(let number): "\(number)"
        case .flag(let flag): "\(flag)"
        }
    }

    /// Returns a text in quotation marks, with JSON escapes, which logfmt readers also understand.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += #"\""#
            case "\\": quoted += #"\\"#
            case "\n": quoted += #"\n"#
            case "\r": quoted += #"\r"#
            case "\t": quoted += #"\t"#
            case _ where isInvisible(scalar):
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    /// Returns whether a character would change how the line is displayed, or would end the line for some readers.
    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
