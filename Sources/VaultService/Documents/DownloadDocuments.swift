package import MediaVault

/// A download that the service runs, or ran recently.
package struct DownloadDocument: Codable, Sendable {
    package enum State: String, Codable, Sendable {
        case running, done, failed
        /// Ended early by a client or by the end of its request; received data is kept.
        case ended
    }

    /// Identifies the download while the service runs.
    package let id: Int
    package let url: String
    package var state = State.running
    /// The number of bytes in the vault or on their way into it.
    package var held: Int64 = 0
    @OrNull package var size: Int64? = nil
    /// The reason for a failure; null unless the download failed.
    @OrNull package var problem: ProblemDocument? = nil

    init(id: Int, url: String) {
        self.id = id
        self.url = url
    }
}

/// The body of `POST /api/v1/downloads`.
typealias DownloadRequest = ResourceRequest<DownloadDetails>

/// The pace of a download, what it fetches of a title, and who waits for it.
struct DownloadDetails: Codable, Sendable {
    let connections: Int?
    /// Bytes per second.
    let limitRate: Int64?
    let video: RenditionSelection.Video?
    let audio: RenditionSelection.Audio?
    let subtitles: RenditionSelection.Subtitles?
    /// The name of the title.
    let title: String?
    /// Whether content that is no media is refused.
    let mediaOnly: Bool?
    /// Whether the download continues without the client that requested it.
    let detached: Bool?

    init(_ options: DownloadOptions, isDetached: Bool) {
        connections = options.connections
        limitRate = options.bytesPerSecond
        (video, audio, subtitles) = (options.selection?.video, options.selection?.audio, options.selection?.subtitles)
        title = options.name
        mediaOnly = options.requiresMedia ? true : nil
        detached = isDetached ? true : nil
    }

    var options: DownloadOptions {
        let usual = RenditionSelection()
        var options = DownloadOptions(
            connections: connections, bytesPerSecond: limitRate,
            selection: RenditionSelection(
                video: video ?? usual.video, audio: audio ?? usual.audio, subtitles: subtitles ?? usual.subtitles),
            name: title)
        options.requiresMedia = mediaOnly ?? false
        return options
    }
}

/// The running and most recently ended downloads, as `GET /api/v1/downloads` returns them.
package struct DownloadsDocument: Codable, Sendable {
    package let downloads: [DownloadDocument]
}

/// The answer to a request that started a detached download.
package struct DownloadStarted: Codable, Hashable, Sendable {
    package let id: Int
}
