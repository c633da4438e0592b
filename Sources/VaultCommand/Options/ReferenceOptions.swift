import ArgumentParser
import Foundation
import MediaVault

/// What names a title beside its URL, and how its origin is asked.
struct ReferenceOptions: ParsableArguments {
    @Option(
        name: .customLong("content-id"),
        help: ArgumentHelp("A name of your own for the title, whatever its URL is.", valueName: "id"))
    var contentID: String?

    @Option(
        help: ArgumentHelp(
            "Request fields for the origin, one Name: value a line; - is standard input.", valueName: "file"))
    var headerFile: String?

    /// What a URL names with these options.
    func reference(_ url: MediaURL, _ unlocking: UnlockOptions) async throws -> MediaReference {
        MediaReference(url, contentID: contentID, fields: try await fields(unlocking))
    }

    /// What each of some URLs names with these options.
    func references(_ urls: [String], _ unlocking: UnlockOptions) async throws -> [MediaReference] {
        let urls = try urls.map { try MediaURL($0) }
        try check(urls)
        let fields = try await fields(unlocking)
        return urls.map { MediaReference($0, contentID: contentID, fields: fields) }
    }

    /// The request fields; none where no file is named.
    func fields(_ unlocking: UnlockOptions) async throws -> HeaderFields {
        switch headerFile {
        case nil: return HeaderFields()
        case "": throw UsageError("--header-file is empty; name a file")
        case "-": return try HeaderFile.fields(in: await StandardInput.read(atMost: HeaderFile.mostBytes))
        case let file?:
            return try await HeaderFile.read(
                AbsolutePath.of(file, from: ProcessEnvironment.current.workingDirectory),
                allowLoose: unlocking.allowLooseKeyFile)
        }
    }

    /// Checks what the options can mean for several URLs.
    func check(_ urls: [MediaURL]) throws {
        if contentID != nil, urls.count > 1 {
            throw UsageError("--content-id names one title; fetch the others apart")
        }
        if headerFile != nil, Set(urls.map { "\($0.scheme)://\($0.authority)" }).count > 1 {
            throw UsageError("--header-file is for one origin; fetch what lies at others apart")
        }
    }
}

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

/// What is piped into the command.
enum StandardInput {
    /// All of it, as far as it may go and a little more, so that too much shows.
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
    /// The message; where one of several URLs cannot be used, with which it is. What is malformed may hold anything, and
    /// is not repeated.
    func message(ofURL number: Int, of count: Int) -> String {
        code == .invalidURL && count > 1 ? "URL \(number) of \(count): \(message)" : message
    }
}
