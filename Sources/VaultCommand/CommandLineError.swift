import ArgumentParser

/// Describes an invalid command line in one sentence that also points to the help.
struct CommandLineError {
    /// The path of the subcommand that the arguments name, such as `keys`, `slot`, `add`.
    private let names: [String]
    /// The word that stands where a subcommand is expected but names none; nil if there is no such word.
    private let unknown: String?
    /// The subcommands that are expected in that place.
    private let known: [String]
    /// Whether the arguments ask for a command's help.
    private let asksForHelp: Bool
    /// The first option that the command does not have; nil if there is none.
    private let unknownOption: String?
    /// The options that the command has.
    private let options: [String]

    init(_ arguments: [String]) {
        var names: [String] = []
        var command: any ParsableCommand.Type = MediaVaultCommand.self
        asksForHelp = arguments.first == "help"
        var rest = asksForHelp ? arguments.dropFirst() : arguments[...]
        while let word = rest.first, let next = command.subcommand(named: word) {
            names.append(Self.name(of: next))
            command = next
            rest.removeFirst()
        }
        self.names = names
        known = command.configuration.subcommands.map { Self.name(of: $0) }
        let options = known.isEmpty ? Self.options(of: command) : []
        self.options = options
        unknownOption =
            known.isEmpty
            ? rest.prefix { $0 != "--" }.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
                .first { !options.contains($0) } : nil
        let isArgument = known.isEmpty || !asksForHelp && command.usualTakesArguments
        unknown = isArgument ? nil : rest.first.flatMap { $0.hasPrefix("-") ? nil : $0 }
    }

    /// The sentence to print if the arguments ask for help on a nonexistent command; nil if they do not. The parser
    /// does not catch this itself.
    var sentenceOfHelp: String? { asksForHelp ? unknown.map { pointing(notKnown($0)) } : nil }

    /// Returns the sentence to print.
    ///
    /// - Parameters:
    ///   - message: the parser's description of the fault.
    ///   - fullMessage: the same description, followed by the help for the argument in question.
    func sentence(_ message: String, _ fullMessage: String) -> String {
        pointing(
            unknown.map(notKnown) ?? unknownOption.map(notAnOption)
                ?? Self.reason(in: message) ?? Self.line(message) + Self.meaning(message, fullMessage))
    }

    /// Returns the reason why a value is invalid, if the reason itself names the option; nil otherwise.
    private static func reason(in message: String) -> String? {
        guard message.hasPrefix("The value "), let mark = message.firstRange(of: "for '--"),
            let end = message[mark.upperBound...].firstRange(of: "': ")
        else { return nil }
        let (option, reason) = (
            message[mark.upperBound..<end.lowerBound].prefix { $0 != " " }, message[end.upperBound...]
        )
        return reason.contains("--\(option)") ? line(String(reason)) : nil
    }

    /// Returns a command's long options, as listed in its help.
    private static func options(of command: any ParsableCommand.Type) -> [String] {
        let help = MediaVaultCommand.helpMessage(for: command, includeHidden: true, columns: 200)
        return help.split(whereSeparator: \.isNewline).flatMap { line in
            line.split { " ,/=".contains($0) }.prefix { $0.hasPrefix("-") || $0 == "or" }
                .filter { $0.hasPrefix("--") }.map(String.init)
        } + ["--version"]
    }

    private func notAnOption(_ word: String) -> String {
        let nothing = "unknown option '\(Redaction.withoutSecrets(word))'"
        let near =
            options.filter { $0.hasPrefix(word) }.min { $0.count < $1.count }
            ?? options.min { LikelyWord.edits(word, $0) < LikelyWord.edits(word, $1) }.flatMap { option in
                let edits = LikelyWord.edits(word, option)
                return edits <= 2 && edits < (option.count - 2) / 2 ? option : nil
            }
        return near.map { "\(nothing); did you mean '\($0)'?" } ?? nothing
    }

    /// Returns a sentence extended so that it points to the right help.
    private func pointing(_ text: String) -> String {
        let end = text.hasSuffix("?") ? "" : ";"
        return "\(text)\(end) see \((["mediavault"] + names).joined(separator: " ")) --help"
    }

    /// Returns a text as one line that starts in lower case and has no full stop at its end, as all messages do.
    static func line(_ text: String) -> String {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.drop { $0 == " " } }
        // The parser lists each value on its own line, whereas the sentence separates values with commas.
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
        if names.isEmpty, let way = Self.otherWays[word] { return "\(nothing): \(way)" }
        if let likely = likely(word) { return "\(nothing); did you mean \(likely)?" }
        let place = names.isEmpty ? "" : " of \(names.joined(separator: " "))"
        return "\(nothing); the commands\(place) are \(known.joined(separator: ", "))"
    }

    /// The names that other programs use for commands, mapped to the names used here.
    private static let otherNames = [
        "add": "fetch", "check": "verify", "del": "remove", "delete": "remove", "download": "fetch", "feed": "sync",
        "feeds": "sync", "follow": "sync add", "get": "fetch", "health": "status", "link": "url", "login": "open",
        "passwd": "keys change-passphrase", "play": "url", "queue": "downloads", "run": "serve", "search": "list",
        "server": "serve", "settings": "config", "show": "info", "start": "serve", "subscribe": "sync add",
        "user": "viewers", "users": "viewers",
    ]

    /// What to do for words that name commands of other programs, where no command does it here.
    private static let otherWays: [String: String] = {
        let log = "the service logs to its standard error; that of a unit is in journalctl --unit mediavault"
        let update = "install the new version, and restart the service; sync run looks for new titles of feeds"
        return [
            "log": log, "logs": log, "update": update, "upgrade": update,
            "restart": "stop the service, and start it again: systemctl restart mediavault",
            "stop": "press Ctrl-C where the service runs, or stop its unit: systemctl stop mediavault",
            "version": "mediavault --version shows it",
        ]
    }()

    /// Returns the command that a word is likely to mean: the one that other programs call by this name, else a command
    /// with this name elsewhere, else the one with the most similar name.
    private func likely(_ word: String) -> String? {
        if names.isEmpty, let other = Self.otherNames[word] { return other }
        let same = Self.paths(of: MediaVaultCommand.self).filter { $0.last == word }
        if let elsewhere = same.first(where: { $0.starts(with: names) }) ?? same.first {
            return elsewhere.joined(separator: " ")
        }
        guard let near = known.min(by: { LikelyWord.edits(word, $0) < LikelyWord.edits(word, $1) }) else { return nil }
        let edits = LikelyWord.edits(word, near)
        return edits <= 2 && edits < near.count / 2 ? (names + [near]).joined(separator: " ") : nil
    }

    private static func name(of command: any ParsableCommand.Type) -> String { command.configuration.commandName ?? "" }

    private static func paths(of command: any ParsableCommand.Type) -> [[String]] {
        command.configuration.subcommands.flatMap { next in
            [[name(of: next)]] + paths(of: next).map { [name(of: next)] + $0 }
        }
    }

    /// Returns the help for the argument whose value is invalid; empty if there is none.
    private static func meaning(_ message: String, _ fullMessage: String) -> String {
        let isOfValue = message.hasPrefix("The value ") || message.hasPrefix("Missing value ")
        guard isOfValue, !message.contains("Please provide"), !message.contains("': "),
            let help = fullMessage.split(whereSeparator: \.isNewline).first(where: { $0.hasPrefix("Help:") }),
            let begin = help.firstRange(of: ">  ")
        else { return "" }
        return ": " + line(String(help[begin.upperBound...]))
    }
}
