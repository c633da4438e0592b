import ArgumentParser
import MediaVault

/// The choice of what to fetch of titles that offer several renditions.
struct RenditionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Video of an HLS or DASH title: best, worst, all, or a maximum height, such as 480.", valueName: "quality"),
        completion: .list(["best", "worst", "all", "2160", "1080", "720", "480"]),
        transform: { try SelectionArgument.parse($0, or: "best, worst, all or a maximum height such as 480") })
    var video = RenditionSelection.Video.best

    @Option(
        help: ArgumentHelp("Languages of the audio, such as en,de; default or all.", valueName: "languages"),
        completion: .list(["default", "all"]),
        transform: { try SelectionArgument.parse($0, or: "default, all or languages such as en,de") })
    var audio = RenditionSelection.Audio.default

    @Option(
        help: ArgumentHelp("Languages of the subtitles, such as en,de; default, none or all.", valueName: "languages"),
        completion: .list(["default", "none", "all"]),
        transform: { try SelectionArgument.parse($0, or: "default, none, all or languages such as en,de") })
    var subtitles = RenditionSelection.Subtitles.default

    @Option(help: ArgumentHelp("Name of the title (default: the one in its manifest).", valueName: "name"))
    var title: String?

    @Flag(help: "Also fetch what is not media, such as a web page.")
    var anyType = false

    /// Adds these options to the options of a download.
    func applied(to options: DownloadOptions) -> DownloadOptions {
        var options = DownloadOptions(
            connections: options.connections, bytesPerSecond: options.bytesPerSecond,
            selection: RenditionSelection(video: video, audio: audio, subtitles: subtitles), name: title)
        options.requiresMedia = !anyType
        return options
    }
}

/// Parses an option whose values are the same as in the API.
enum SelectionArgument {
    static func parse<Value: RawRepresentable<String>>(_ text: String, or values: String) throws -> Value {
        guard let value = Value(rawValue: text) else {
            throw ValidationError("give \(values)")
        }
        return value
    }
}
