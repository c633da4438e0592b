/// Media types guessed from a path's extension, for origins that send none or `application/octet-stream`.
package enum MediaType {
    /// The type that `path`'s extension stands for; nil where the extension is not one of media.
    package static func guess(path: some StringProtocol) -> String? {
        guard let name = path.split(separator: "/").last, let dot = name.lastIndex(of: ".") else { return nil }
        return byExtension[name[name.index(after: dot)...].lowercased()]
    }

    private static let byExtension: [String: String] = [
        "mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime", "webm": "video/webm",
        "mkv": "video/x-matroska", "ts": "video/mp2t", "m2ts": "video/mp2t", "avi": "video/x-msvideo",
        "mp3": "audio/mpeg", "m4a": "audio/mp4", "aac": "audio/aac", "flac": "audio/flac", "wav": "audio/wav",
        "ogg": "audio/ogg", "oga": "audio/ogg", "opus": "audio/ogg", "ogv": "video/ogg",
        "m3u8": "application/vnd.apple.mpegurl", "mpd": "application/dash+xml",
        "m4s": "video/iso.segment", "vtt": "text/vtt", "srt": "application/x-subrip",
    ]
}
