import ArgumentParser
import Foundation
import MediaVault

/// The options that identify a title besides its URL, and the header fields sent to its origin.
struct ReferenceOptions: ParsableArguments {
    @Option(
        name: .customLong("content-id"),
        help: ArgumentHelp("Your own identifier for the title, independent of its URL.", valueName: "id"))
    var contentID: String?

    @Option(
        help: ArgumentHelp(
            "File with header fields to send to the origin, one Name: value per line; - is standard input.",
            valueName: "file"), completion: .file())
    var headerFile: String?

    /// Returns the reference that a URL and these options make.
    func reference(_ url: MediaURL, _ unlocking: UnlockOptions) async throws -> MediaReference {
        MediaReference(url, contentID: contentID, fields: try await fields(unlocking))
    }

    /// Returns the references that several URLs and these options make.
    func references(_ urls: [String], _ unlocking: UnlockOptions) async throws -> [MediaReference] {
        let urls = try urls.map { try MediaURL($0) }
        try check(urls)
        let fields = try await fields(unlocking)
        return urls.map { MediaReference($0, contentID: contentID, fields: fields) }
    }

    /// Returns the header fields to send; none if no file is given.
    func fields(_ unlocking: UnlockOptions) async throws -> HeaderFields {
        switch headerFile {
        case nil: return HeaderFields()
        case "": throw UsageError("--header-file is empty; give it a file")
        case "-": return try HeaderFile.fields(in: await StandardInput.read(atMost: HeaderFile.maxBytes))
        case let file?:
            return try await HeaderFile.read(
                AbsolutePath.of(file, from: ProcessEnvironment.current.workingDirectory),
                allowLoose: unlocking.allowLooseKeyFile)
        }
    }

    /// Checks that the options fit several URLs.
    func check(_ urls: [MediaURL]) throws {
        if contentID != nil, urls.count > 1 {
            throw UsageError("--content-id identifies one title; run the command once for each title")
        }
        if headerFile != nil, Set(urls.map { "\($0.scheme)://\($0.authority)" }).count > 1 {
            throw UsageError("--header-file is for one origin; run the command once for each origin")
        }
    }
}

/// The URLs that arguments give: the arguments themselves or, for `-`, the list on standard input.
enum URLList {
    /// The argument that stands for the list on standard input.
    static let fromInput = "-"

    /// The maximum length of the list in bytes.
    private static let maxBytes = 16 << 20

    static func read(_ arguments: [String]) async throws -> [String] {
        guard arguments.contains(fromInput) else { return arguments }
        guard arguments.count(where: { $0 == fromInput }) == 1 else {
            throw UsageError("- may be given only once, because standard input can be read only once")
        }
        let bytes = try await StandardInput.read(atMost: maxBytes)
        guard bytes.count <= maxBytes else { throw UsageError("the list on standard input is longer than 16 MiB") }
        let listed = urls(in: String(decoding: bytes, as: UTF8.self))
        guard arguments.count > 1 || !listed.isEmpty else { throw UsageError("standard input contains no URL") }
        return arguments.flatMap { $0 == fromInput ? listed : [$0] }
    }

    /// Returns one URL for each line; skips empty lines and lines that start with `#`.
    static func urls(in text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).map { line in
            String(line.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
        }.filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }
}

/// The standard input of the command.
enum StandardInput {
    /// Returns all input, up to slightly more than `limit` bytes so that an excess is visible.
    static func read(atMost limit: Int) async throws -> [UInt8] {
        try await BlockingQueue("mediavault.input").run {
            var bytes: [UInt8] = []
            while bytes.count <= limit, let more = try FileHandle.standardInput.read(upToCount: 16 << 10),
                !more.isEmpty
            {
                bytes += more
            }
            return bytes
        }
    }
}

extension VaultError {
    /// Returns the message, with the position of the URL if it is malformed and one of several.
    ///
    /// A malformed URL itself is not repeated, because it may contain anything.
    func message(ofURL number: Int, of count: Int) -> String {
        code == .invalidURL && count > 1 ? "URL \(number) of \(count): \(text)" : text
    }
}
