import ArgumentParser

/// Says what is wrong in a command line that cannot be read: one sentence, and where help is.
struct CommandLineFault {
    /// The subcommand that the arguments name, each part of its name: `keys`, `slot`, `add`.
    private let names: [String]
    /// What stands where a subcommand should be named; nil where one is, or nothing stands there.
    private let unknown: String?
    /// The subcommands that there are in that place.
    private let known: [String]

    init(_ arguments: [String]) {
        var names: [String] = []
        var command: any ParsableCommand.Type = MediaVaultCommand.self
        var rest = arguments[...]
        while let word = rest.first,
            let next = command.configuration.subcommands.first(where: { Self.name(of: $0) == word })
        {
            names.append(word)
            command = next
            rest.removeFirst()
        }
        self.names = names
        known = command.configuration.subcommands.map { Self.name(of: $0) }
        unknown = known.isEmpty ? nil : rest.first.flatMap { $0.hasPrefix("-") || $0 == "help" ? nil : $0 }
    }

    /// - Parameters:
    ///   - message: what the parser says is wrong.
    ///   - fullMessage: the same with what the argument in question is for.
    func sentence(_ message: String, _ fullMessage: String) -> String {
        let text = unknown.map(notKnown) ?? Self.line(message) + Self.meaning(message, fullMessage)
        let end = text.hasSuffix("?") ? "" : ";"
        return "\(text)\(end) see \((["mediavault"] + names).joined(separator: " ")) --help"
    }

    /// One line that begins small and ends without a full stop, as all messages do.
    static func line(_ text: String) -> String {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.drop { $0 == " " } }
        // A list of values stands in a sentence as one.
        let isList = lines.count > 1 && lines.dropFirst().allSatisfy { $0.hasPrefix("- ") }
        var line =
            isList
            ? lines[0] + " " + lines.dropFirst().map { $0.dropFirst(2) }.joined(separator: ", ")
            : lines.joined(separator: " ")
        for (theirs, ours) in [
            (". Did you", "; did you"), (". Please provide one of the following: ", "; give one of "),
            (". Please provide one of ", "; give one of "),
        ] { line = line.replacing(theirs, with: ours) }
        line = Redaction.withoutSecrets(line)
        while line.hasSuffix(".") { line.removeLast() }
        return line.prefix(1).lowercased() + line.dropFirst()
    }

    private func notKnown(_ word: String) -> String {
        let nothing = "there is no command \((names + [Redaction.withoutSecrets(word)]).joined(separator: " "))"
        guard let likely = likely(word) else { return nothing }
        return "\(nothing); did you mean \(likely)?"
    }

    /// What was probably meant: a command of that name in another place, or the one that is written most like it.
    private func likely(_ word: String) -> String? {
        if let elsewhere = Self.paths(of: MediaVaultCommand.self).first(where: { $0.last == word }) {
            return elsewhere.joined(separator: " ")
        }
        guard let near = known.min(by: { Self.edits(word, $0) < Self.edits(word, $1) }) else { return nil }
        let edits = Self.edits(word, near)
        return edits <= 2 && edits < near.count / 2 ? (names + [near]).joined(separator: " ") : nil
    }

    private static func name(of command: any ParsableCommand.Type) -> String { command.configuration.commandName ?? "" }

    private static func paths(of command: any ParsableCommand.Type) -> [[String]] {
        command.configuration.subcommands.flatMap { next in
            [[name(of: next)]] + paths(of: next).map { [name(of: next)] + $0 }
        }
    }

    /// How many letters are added, lost or others.
    private static func edits(_ one: String, _ other: String) -> Int {
        let other = Array(other)
        var row = Array(0...other.count)
        for (index, letter) in one.prefix(64).enumerated() {
            var next = [index + 1]
            for (column, candidate) in other.enumerated() {
                next.append(min(row[column] + (letter == candidate ? 0 : 1), row[column + 1] + 1, next[column] + 1))
            }
            row = next
        }
        return row[other.count]
    }

    /// What the argument is for whose value cannot be used, as its help has it.
    private static func meaning(_ message: String, _ fullMessage: String) -> String {
        let isOfValue = message.hasPrefix("The value ") || message.hasPrefix("Missing value ")
        guard isOfValue, !message.contains("Please provide"),
            let help = fullMessage.split(whereSeparator: \.isNewline).first(where: { $0.hasPrefix("Help:") }),
            let begin = help.firstRange(of: ">  ")
        else { return "" }
        return ": " + line(String(help[begin.upperBound...]))
    }
}
