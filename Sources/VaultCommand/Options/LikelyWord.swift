import ArgumentParser

/// Finds the word that the user is likely to have meant by a mistyped one.
enum LikelyWord {
    /// Returns the edit distance, which is the least number of letters to insert, remove or replace, or of neighbouring
    /// letters to swap.
    static func edits(_ one: String, _ other: String) -> Int {
        let (one, other) = (Array(one.prefix(64)), Array(other))
        var (earlier, row) = ([Int](), Array(0...other.count))
        for (index, letter) in one.enumerated() {
            var next = [index + 1]
            for (column, candidate) in other.enumerated() {
                var least = min(row[column] + (letter == candidate ? 0 : 1), row[column + 1] + 1, next[column] + 1)
                if index > 0, column > 0, letter == other[column - 1], candidate == one[index - 1] {
                    least = min(least, earlier[column - 1] + 1)
                }
                next.append(least)
            }
            (earlier, row) = (row, next)
        }
        return row[other.count]
    }

    /// Returns the subcommand that a word is likely to mean; nil if the word is itself a subcommand or resembles none.
    static func subcommand(like word: String, of command: any ParsableCommand.Type) -> String? {
        let names = command.configuration.subcommands.map { $0.configuration.commandName ?? "" }
        guard word.utf8.allSatisfy({ (0x61...0x7A).contains($0) || $0 == 0x2D }),
            let near = names.min(by: { Self.edits(word, $0) < Self.edits(word, $1) })
        else { return nil }
        let edits = Self.edits(word, near)
        return edits > 0 && edits <= 2 && edits < near.count / 2 ? near : nil
    }
}
