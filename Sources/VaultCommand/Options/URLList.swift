/// The URLs that arguments name: themselves, or, for `-`, those on standard input.
enum URLList {
    /// The argument that stands for the list on standard input.
    static let fromInput = "-"

    /// The longest list, in bytes.
    private static let mostBytes = 16 << 20

    static func read(_ arguments: [String]) async throws -> [String] {
        guard arguments.contains(fromInput) else { return arguments }
        guard arguments.count(where: { $0 == fromInput }) == 1 else {
            throw UsageError("- is there once: standard input can be read once")
        }
        let bytes = try await StandardInput.read(atMost: mostBytes)
        guard bytes.count <= mostBytes else { throw UsageError("the list on standard input is longer than 16 MiB") }
        let listed = urls(in: String(decoding: bytes, as: UTF8.self))
        guard arguments.count > 1 || !listed.isEmpty else { throw UsageError("standard input names no URL") }
        return arguments.flatMap { $0 == fromInput ? listed : [$0] }
    }

    /// One URL a line; empty lines, and those that begin with `#`, are none.
    static func urls(in text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).map { line in
            String(line.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
        }.filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }
}
