import ArgumentParser
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
                AbsolutePath.of(file, from: Surroundings.current.workingDirectory),
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
