import ArgumentParser
import MediaVault

/// What is fetched of titles with several renditions.
struct RenditionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Video of an HLS or DASH title: best, worst, all, or the most lines, such as 480.", valueName: "quality"),
        transform: SelectionArgument.parse)
    var video = RenditionSelection.Video.best

    @Option(
        help: ArgumentHelp("Languages of the audio, such as en,de; default or all.", valueName: "languages"),
        transform: SelectionArgument.parse)
    var audio = RenditionSelection.Audio.default

    @Option(
        help: ArgumentHelp("Languages of the subtitles, such as en,de; default, none or all.", valueName: "languages"),
        transform: SelectionArgument.parse)
    var subtitles = RenditionSelection.Subtitles.default

    @Option(help: ArgumentHelp("Name of the title (default: the one in its manifest).", valueName: "name"))
    var title: String?

    @Flag(help: "Also fetch what is no media, such as a web page.")
    var anyType = false

    /// Adds them to the options of a download.
    func applied(to options: DownloadOptions) -> DownloadOptions {
        var options = DownloadOptions(
            connections: options.connections, bytesPerSecond: options.bytesPerSecond,
            selection: RenditionSelection(video: video, audio: audio, subtitles: subtitles), name: title)
        options.requiresMedia = !anyType
        return options
    }
}

/// Reads an option that has the same text as in the API.
enum SelectionArgument {
    static func parse<Value: RawRepresentable<String>>(_ text: String) throws -> Value {
        guard let value = Value(rawValue: text) else {
            throw ValidationError("'\(text)' is none of the values that the help lists")
        }
        return value
    }
}
