import ArgumentParser
import MediaVault

/// Limits of the vault's room, for this run over those of its settings.
struct RoomOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The most bytes of sealed media the vault may hold: 200MiB, 2G; 0 is no limit.",
            valueName: "size"))
    var maxSize: String?

    @Option(
        help: ArgumentHelp(
            "How long what was merely played is kept after it was last read: 90d, 12h; 0 is for ever.",
            valueName: "age"))
    var maxAge: String?

    @Option(
        help: ArgumentHelp(
            "The bytes the vault leaves free on its disk: 10GiB (default: 5 % of it, 10GiB at most); 0 is none.",
            valueName: "size"))
    var minFree: String?

    @Flag(help: "Let the size limit cost titles that were fetched by name, too.")
    var evictDownloads = false

    /// The limits named; nil where none is.
    func limits() throws -> RoomLimits? {
        guard maxSize != nil || maxAge != nil || minFree != nil || evictDownloads else { return nil }
        return RoomLimits(
            maxSize: try maxSize.map { try SizeArgument.parse($0, "--max-size") },
            maxAge: try maxAge.map { try AgeArgument.parse($0, "--max-age") },
            minFree: try minFree.map { try SizeArgument.parse($0, "--min-free") },
            evictsDownloads: evictDownloads ? true : nil)
    }
}
