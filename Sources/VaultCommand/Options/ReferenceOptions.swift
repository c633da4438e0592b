import ArgumentParser
import Foundation
import MediaVault

/// The options that help to identify a title, in addition to its URL, and that state the header fields to send to its
/// origin.
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

    /// Returns the content id and header fields that these options state for the titles.
    func naming(of names: [TitleName], _ unlocking: UnlockOptions) async throws -> TitleNaming {
        try check(names)
        return TitleNaming(contentID: contentID, fields: try await fields(unlocking))
    }

    /// Returns the header fields to send; empty if no file is given.
    private func fields(_ unlocking: UnlockOptions) async throws -> HeaderFields {
        switch headerFile {
        case nil: return HeaderFields()
        case "": throw UsageError("--header-file is empty; give it a file")
        case "-": return try HeaderFile.fields(in: await StandardInput.read(atMost: HeaderFile.maxBytes))
        case let file?:
            return try await HeaderFile.read(
                try ProcessEnvironment.current.absolute(file),
                allowLoose: unlocking.allowLooseKeyFile)
        }
    }

    /// Checks that the options can apply to the titles.
    func check(_ names: [TitleName]) throws {
        if contentID != nil, names.isEmpty {
            throw UsageError("--content-id goes with the URL of a title; give one")
        }
        if contentID != nil, names.contains(where: { $0.id != nil }) {
            throw UsageError("--content-id goes with a URL; an id names the title by itself")
        }
        if contentID != nil, names.count > 1 {
            throw UsageError("--content-id identifies one title; run the command once for each title")
        }
        // Only the vault knows the origin of a title that is named by its id.
        let origins = names.map { if case .url(let url) = $0 { "\(url.scheme)://\(url.authority)" } else { "\($0)" } }
        if headerFile != nil, Set(origins).count > 1 {
            throw UsageError("--header-file is for one origin; run the command once for each origin")
        }
    }
}

/// The standard input of the command.
enum StandardInput {
    /// Returns the whole input. Slightly more than `limit` bytes are read, so that the caller can tell if there are too
    /// many.
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
    /// Returns the message. If a URL is malformed and one of several, the message states the URL's position.
    ///
    /// The malformed URL itself is not repeated, because it may contain anything.
    func message(ofURL number: Int, of count: Int) -> String {
        code == .invalidURL && count > 1 ? "URL \(number) of \(count): \(text)" : text
    }
}
