import ArgumentParser

/// The options that may also precede the subcommand: `mediavault --vault DIR list`.
///
/// The parser accepts a subcommand's option only after its name, but people put options that are the same for every
/// command first, in a shell alias.
enum GlobalOptions {
    /// The options with a value.
    static let valued: Set<String> = [
        "--vault", "--keyring", "--key-file", "--passphrase-file", "--key-command", "--credential",
    ]
    /// The options without a value.
    static let flags: Set<String> = ["--allow-loose-key-file", "--wait", "--json"]

    /// Returns the arguments with the options before a subcommand moved to just after its name, so that the same option
    /// given again later takes precedence.
    ///
    /// Without a subcommand, the options have no effect. If nothing follows them, they stay, so that the parser refuses
    /// them; otherwise they are dropped, and the parser judges the rest.
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

    /// Removes the global options at the start, and returns them.
    static func taken(from words: inout ArraySlice<String>) -> [String] {
        var options: [String] = []
        while let count = length(words) {
            options += words.prefix(count)
            words.removeFirst(count)
        }
        return options
    }

    /// Returns how many words the leading global option takes; nil if there is none.
    private static func length(_ words: ArraySlice<String>) -> Int? {
        guard let word = words.first else { return nil }
        if flags.contains(word) { return 1 }
        if valued.contains(String(word.prefix { $0 != "=" })), word.contains("=") { return 1 }
        guard valued.contains(word) else { return nil }
        // The parser does not accept a word with a leading dash as a value, either, and reports the value as missing.
        return words.dropFirst().first?.hasPrefix("-") == false ? 2 : 1
    }
}

/// A default subcommand that takes arguments: a word in place of a subcommand is such an argument.
protocol TakesArguments {}

extension ParsableCommand {
    /// Whether a word that is not a subcommand is an argument of the default one.
    static var usualTakesArguments: Bool { configuration.defaultSubcommand is any TakesArguments.Type }

    /// Returns the subcommand with a name or alias; nil if there is none.
    static func subcommand(named name: String) -> (any ParsableCommand.Type)? {
        configuration.subcommands.first {
            $0.configuration.commandName == name || $0.configuration.aliases.contains(name)
        }
    }
}
