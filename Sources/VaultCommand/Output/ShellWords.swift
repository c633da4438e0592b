/// Formats a command's words in the form in which a person would type them into a shell.
enum ShellWords {
    /// Returns the command as one line; empty if there is no command.
    static func lines(_ words: [String]?) -> [String] { words.map { [$0.map(quoted).joined(separator: " ")] } ?? [] }

    private static func quoted(_ word: String) -> String {
        guard word.isEmpty || !word.unicodeScalars.allSatisfy(isPlain) else { return word }
        return "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
            || "/.-_=:,@+%".unicodeScalars.contains(scalar)
    }
}
