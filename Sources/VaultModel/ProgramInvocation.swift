/// A program that the operator names, with its arguments; it runs without a shell.
package struct ProgramInvocation: Hashable, Sendable {
    /// The absolute path of the program.
    package let path: String
    /// The arguments after the program's own name.
    package let arguments: [String]

    /// Maximum number of words, the path included.
    package static let maxWords = 32
    /// Maximum bytes of UTF-8 in all words together.
    package static let maxBytes = 4096

    /// Creates an invocation from the words that the operator typed: the path, then the arguments.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the first word is not the absolute path of a file, a
    ///   word contains a NUL byte, or the words exceed ``maxWords`` or ``maxBytes``.
    package init(_ words: [String]) throws {
        guard let path = words.first, path.hasPrefix("/"), !path.hasSuffix("/") else {
            throw VaultError(
                .invalidArgument, "a program must be named by its absolute path, such as /usr/local/bin/notify")
        }
        guard !words.contains(where: { $0.utf8.contains(0) }) else {
            throw VaultError(.invalidArgument, "the words of a program must not contain NUL bytes")
        }
        guard words.count <= Self.maxWords, words.reduce(0, { $0 + $1.utf8.count }) <= Self.maxBytes else {
            throw VaultError(
                .invalidArgument,
                "a program and its arguments are at most \(Self.maxWords) words with \(Self.maxBytes) bytes together; "
                    + "put them into a script, and name that")
        }
        self.path = path
        arguments = Array(words.dropFirst())
    }

    /// The words as ``init(_:)`` takes them.
    package var words: [String] { [path] + arguments }
}

/// The programs that a vault's settings name.
package struct ProgramSettings: Hashable, Sendable {
    /// The program that receives notices for the operator; nil for none.
    package var notify: ProgramInvocation?
    /// The program that finds a new URL for a title whose own the origin refuses; nil for none.
    package var refresh: ProgramInvocation?

    /// Creates the settings of a new vault.
    package init(notify: ProgramInvocation? = nil, refresh: ProgramInvocation? = nil) {
        (self.notify, self.refresh) = (notify, refresh)
    }
}
