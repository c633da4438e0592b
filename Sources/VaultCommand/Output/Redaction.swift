/// Takes out of a sentence what a URL in it may carry: its query, and a name and password before its host.
///
/// Messages of the argument parser repeat what was typed.
enum Redaction {
    static func withoutSecrets(_ text: String) -> String {
        var result = ""
        var rest = text[...]
        while let mark = rest.firstRange(of: "://") {
            result += rest[..<mark.upperBound]
            rest = rest[mark.upperBound...]
            let end = rest.firstIndex { $0.isWhitespace || $0 == "'" || $0 == "\"" } ?? rest.endIndex
            result += shown(rest[..<end])
            rest = rest[end...]
        }
        return result + rest
    }

    /// What stands after `://`, shortened.
    private static func shown(_ text: Substring) -> String {
        let pathStart = text.firstIndex { "/?#".contains($0) } ?? text.endIndex
        let authority = String(text[..<pathStart].split(separator: "@").last ?? "")
        let path = text[pathStart...]
        guard let query = path.firstIndex(where: { "?#".contains($0) }) else { return authority + path }
        return authority + path[..<query] + "?…"
    }
}
