/// What a source file declares and names, outside comments and strings. Interpolations in strings count as code.
struct SwiftText {
    /// The members of a type in this file.
    struct Members {
        /// The names of its functions, properties and cases.
        var names: Set<String> = []
        /// How many functions, initializers and subscripts it has.
        var functions = 0
    }

    /// The types that it declares at its top level.
    private(set) var declared: Set<String> = []
    /// Its capitalized words.
    private(set) var named: Set<String> = []
    /// The words after a dot.
    private(set) var asked: Set<String> = []
    /// The members of the types that it declares. A nested type has the name of its outer type before its own.
    private(set) var own: [String: Members] = [:]
    /// The members that its extensions add to types.
    private(set) var added: [String: Members] = [:]

    /// The names of all members.
    var members: Set<String> { [own, added].joined().reduce(into: []) { $0.formUnion($1.value.names) } }

    private struct Scope {
        let type: String
        let isExtension: Bool
        let depth: Int
    }

    private static let types: Set<Substring> = ["struct", "enum", "class", "protocol", "actor"]
    private static let functions: Set<Substring> = ["func", "init", "subscript"]

    init(_ text: String) {
        let tokens = Self.tokens(of: Self.code(of: text))
        var scopes: [Scope] = [], depth = 0, parentheses = 0
        var next: (type: String, isExtension: Bool)?
        for (index, token) in tokens.enumerated() {
            let last = index > 0 ? tokens[index - 1] : ""
            let name = index + 1 < tokens.count ? String(tokens[index + 1]) : ""
            switch token {
            case "{":
                depth += 1
                guard parentheses == 0, let (type, isExtension) = next else { continue }
                scopes.append(Scope(type: type, isExtension: isExtension, depth: depth))
                next = nil
            case "}":
                if scopes.last?.depth == depth { scopes.removeLast() }
                depth -= 1
            case "(", "[": parentheses += 1
            case ")", "]": parentheses -= 1
            default:
                if token.first?.isUppercase == true { named.insert(String(token)) }
                if last == "." { asked.insert(String(token)) }
                guard last != ".", parentheses == 0 else { continue }
                if Self.types.contains(token), name.first?.isUppercase == true {
                    if depth == 0 { declared.insert(name) }
                    next = ((scopes.map(\.type) + [name]).joined(separator: "."), false)
                } else if token == "typealias", depth == 0 {
                    declared.insert(name)
                } else if token == "extension", depth == 0 {
                    next = (name, true)
                } else if let scope = scopes.last, scope.depth == depth {
                    note(token, name, in: scope, isOfExtension: scopes[0].isExtension)
                }
            }
        }
    }

    private mutating func note(_ token: Substring, _ name: String, in scope: Scope, isOfExtension: Bool) {
        let isFunction = Self.functions.contains(token)
        guard isFunction || ["var", "let", "case"].contains(token) else { return }
        var members = (isOfExtension ? added[scope.type] : own[scope.type]) ?? Members()
        if isFunction { members.functions += 1 }
        if token == "func" || !isFunction { members.names.insert(name) }
        if isOfExtension { added[scope.type] = members } else { own[scope.type] = members }
    }

    private static func tokens(of code: [UInt8]) -> [Substring] {
        var tokens: [Substring] = [], start = 0
        while start < code.count {
            let word = code[start...].prefix { isOfWord($0) }
            if !word.isEmpty {
                tokens.append(Substring(decoding: word, as: UTF8.self))
            } else if "{}()[].".utf8.contains(code[start]) {
                tokens.append(Substring(decoding: code[start...start], as: UTF8.self))
            }
            start = max(word.endIndex, start + 1)
        }
        return tokens
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A, 0x80...0xFF: true
        default: false
        }
    }

    // MARK: Comments and strings

    /// What a place in a file is inside of.
    private enum Context {
        case comment
        /// A string that ends with these characters.
        case string(end: [UInt8], escape: [UInt8])
        /// Code within a string, and how many of its parentheses are open.
        case interpolation(open: Int)
    }

    /// Returns a file without its comments, and without the text of its strings.
    private static func code(of text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        var code: [UInt8] = [], contexts: [Context] = [], place = 0
        func take(_ prefix: some Collection<UInt8>) -> Bool {
            guard bytes[place...].starts(with: prefix) else { return false }
            place += prefix.count
            return true
        }
        while place < bytes.count {
            switch contexts.last {
            case .comment:
                if take("*/".utf8) {
                    contexts.removeLast()
                } else if take("/*".utf8) {
                    contexts.append(.comment)
                } else {
                    place += 1
                }
            case .string(let end, let escape):
                if take(end) {
                    contexts.removeLast()
                } else if take(escape + "(".utf8) {
                    contexts.append(.interpolation(open: 1))
                    code += " (".utf8
                } else {
                    _ = take(escape)
                    place += 1
                }
            case .interpolation, nil:
                if take("//".utf8) {
                    place = bytes[place...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
                } else if take("/*".utf8) {
                    contexts.append(.comment)
                } else if let string = string(at: bytes[place...]) {
                    place += string.length
                    contexts.append(string.context)
                    code.append(UInt8(ascii: " "))
                } else {
                    let byte = bytes[place]
                    place += 1
                    code.append(byte)
                    guard case .interpolation(let open)? = contexts.last, "()".utf8.contains(byte) else { continue }
                    let left = open + (byte == UInt8(ascii: "(") ? 1 : -1)
                    contexts.removeLast()
                    if left > 0 { contexts.append(.interpolation(open: left)) }
                }
            }
        }
        return code
    }

    /// Returns how the string begins that begins here; nil if none does.
    private static func string(at rest: ArraySlice<UInt8>) -> (length: Int, context: Context)? {
        let marks = Array(rest.prefix { $0 == UInt8(ascii: "#") })
        let quotes = rest.dropFirst(marks.count).prefix { $0 == UInt8(ascii: "\"") }.count
        guard quotes > 0 else { return nil }
        let quote = Array(repeating: UInt8(ascii: "\""), count: quotes >= 3 ? 3 : 1)
        return (marks.count + quote.count, .string(end: quote + marks, escape: Array("\\".utf8) + marks))
    }
}
