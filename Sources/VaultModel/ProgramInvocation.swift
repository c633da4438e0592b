/// A program that the operator specifies, with its arguments; it runs without a shell.
package struct ProgramInvocation: Hashable, Sendable {
    /// The program's absolute path.
    package let path: String
    /// The arguments after the program's own name.
    package let arguments: [String]

    /// The maximum number of words, including the path.
    package static let maxWords = 32
    /// The maximum length of all words together, in bytes of UTF-8.
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

    /// The path and the arguments, as ``init(_:)`` takes them.
    package var words: [String] { [path] + arguments }
}

/// The programs that a vault's settings specify.
package struct ProgramSettings: Hashable, Sendable {
    /// The program that receives notices for the operator; nil if there is none.
    package var notify: ProgramInvocation?
    /// The program that finds a new URL for a title whose current URL the origin refuses; nil if there is none.
    package var refresh: ProgramInvocation?

    /// Creates settings. By default, as in a new vault, they specify no program.
    package init(notify: ProgramInvocation? = nil, refresh: ProgramInvocation? = nil) {
        (self.notify, self.refresh) = (notify, refresh)
    }
}
