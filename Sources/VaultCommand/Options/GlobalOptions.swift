import ArgumentParser

/// The options that may also precede the subcommand, as in `mediavault --vault DIR list`.
///
/// The parser accepts a subcommand's option only after the subcommand's name. However, people put options that are the
/// same for every command first, for example in a shell alias.
enum GlobalOptions {
    /// The options with a value.
    static let valued: Set<String> = [
        "--vault", "--keyring", "--key-file", "--passphrase-file", "--key-command", "--credential",
    ]
    /// The options without a value.
    static let flags: Set<String> = ["--allow-loose-key-file", "--wait", "--json"]

    /// Returns the arguments with the options before a subcommand moved to just after the subcommand's name, so that
    /// the same option takes precedence if it is given again later.
    ///
    /// Without a subcommand, the options have no effect. If nothing follows them, they stay, so that the parser refuses
    /// them. Otherwise they are dropped, and the parser judges the remaining arguments.
    ///
    /// - Parameter root: the command whose subcommands the arguments name.
    static func moved(_ arguments: [String], of root: any ParsableCommand.Type) -> [String] {
        var (names, options, rest) = ([String](), [String](), arguments[...])
        var command = root
        while !command.configuration.subcommands.isEmpty, let word = rest.first {
            if let next = command.subcommand(named: word) {
                names.append(rest.removeFirst())
                command = next
            } else {
                let global = taken(from: &rest)
                if global.isEmpty { break }
                options += global
            }
        }
        if let usual = command.configuration.defaultSubcommand,
            command.usualTakesArguments || rest.first?.hasPrefix("-") ?? true,
            !rest.contains(where: ["--help", "-h", "-help"].contains)
        {
            names.append(usual.configuration.commandName ?? "")
            command = usual
        }
        let isKept = command.configuration.subcommands.isEmpty || rest.isEmpty
        return names + (isKept ? options : []) + rest
    }

    /// Removes the global options at the start of the words, and returns them.
    static func taken(from words: inout ArraySlice<String>) -> [String] {
        var options: [String] = []
        while let count = length(words) {
            options += words.prefix(count)
            words.removeFirst(count)
        }
        return options
    }

    /// Returns the number of words that the leading global option takes up; nil if the words do not begin with one.
    private static func length(_ words: ArraySlice<String>) -> Int? {
        guard let word = words.first else { return nil }
        if flags.contains(word) { return 1 }
        if valued.contains(String(word.prefix { $0 != "=" })), word.contains("=") { return 1 }
        guard valued.contains(word) else { return nil }
        // Like the parser, this does not accept a word with a leading dash as a value. The parser reports the value as
        // missing.
        return words.dropFirst().first?.hasPrefix("-") == false ? 2 : 1
    }
}

/// A default subcommand that takes arguments. A word that stands where a subcommand is expected can then be an
/// argument.
protocol TakesArguments {}

extension ParsableCommand {
    /// Whether a word that names no subcommand is an argument of the default subcommand.
    static var usualTakesArguments: Bool { configuration.defaultSubcommand is any TakesArguments.Type }

    /// Returns the subcommand with a name or alias; nil if there is none.
    static func subcommand(named name: String) -> (any ParsableCommand.Type)? {
        configuration.subcommands.first {
            $0.configuration.commandName == name || $0.configuration.aliases.contains(name)
        }
    }
}
