package import MediaVault

/// A download that a client waits for, or an entry in the download queue. Either stays listed until shortly after it
/// ends.
package struct DownloadDocument: Codable, Sendable {
    /// The id of the title to download.
    package let id: TitleID
    package let url: String
    @OrNull package var contentID: String?
    /// The name to give the title.
    @OrNull package var name: String? = nil
    package var state = DownloadSnapshot.State.running
    /// Whether the download is in the queue, so that no client has to wait for it.
    package let queued: Bool
    /// The number of bytes in the vault or on their way into it; 0 until the download runs.
    package var held: Int64 = 0
    @OrNull package var size: Int64? = nil
    /// When the download was queued.
    @OrNull package var added: Timestamp? = nil
    /// The number of failed attempts since the last retry or resume.
    package var attempts = 0
    /// When the next attempt is due; null if none is scheduled.
    @OrNull package var nextAttempt: Timestamp? = nil
    /// Why the last attempt failed.
    @OrNull package var problem: ProblemDocument? = nil

    /// Creates the document for a download that a client waits for.
    init(id: TitleID, url: String, contentID: String?) {
        self.id = id
        self.url = url
        self.contentID = contentID
        queued = false
    }

    /// Creates the document for a queue entry.
    init(_ snapshot: DownloadSnapshot) {
        id = snapshot.title
        url = snapshot.url
        queued = true
        contentID = snapshot.contentID
        name = snapshot.name
        state = snapshot.state
        held = snapshot.progress?.held ?? 0
        size = snapshot.progress?.total
        added = snapshot.added
        attempts = snapshot.attempts
        nextAttempt = snapshot.nextAttempt
        problem = snapshot.failure.map(APIProblem.document)
    }
}

/// The body of `POST /api/v1/downloads`: one download, or several for the queue.
enum DownloadPost: Decodable, Sendable {
    case one(DownloadRequest)
    case queue(DownloadBatch)

    private enum CodingKeys: CodingKey { case downloads }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self =
            members.contains(.downloads)
            ? .queue(try DownloadBatch(from: decoder)) : .one(try DownloadRequest(from: decoder))
    }
}

/// Downloads for the queue.
struct DownloadBatch: Codable, Sendable {
    let downloads: [DownloadRequest]
    /// Whether to run these downloads before all others in the queue.
    var first: Bool?
}

/// One download.
typealias DownloadRequest = ResourceRequest<DownloadDetails>

/// The options of a download: its pace, which renditions to fetch, and whether the client waits for it.
struct DownloadDetails: Codable, Sendable {
    let connections: Int?
    /// The rate limit in bytes per second.
    let limitRate: Int64?
    let video: RenditionSelection.Video?
    let audio: RenditionSelection.Audio?
    let subtitles: RenditionSelection.Subtitles?
    /// The name to give the title.
    let title: String?
    /// Whether to refuse content that is not media, such as a web page or a feed; nil means that it is refused.
    let mediaOnly: Bool?
    /// Whether to put the download into the queue, so that no client has to wait for it.
    let detached: Bool?
    /// Whether to run the download before all others in the queue.
    var first: Bool?

    init(_ options: DownloadOptions, isDetached: Bool) {
        connections = options.connections
        limitRate = options.bytesPerSecond
        (video, audio, subtitles) = (options.selection?.video, options.selection?.audio, options.selection?.subtitles)
        title = options.name
        mediaOnly = options.requiresMedia
        detached = isDetached ? true : nil
    }

    var options: DownloadOptions {
        let usual = RenditionSelection()
        var options = DownloadOptions(
            connections: connections, bytesPerSecond: limitRate,
            selection: RenditionSelection(
                video: video ?? usual.video, audio: audio ?? usual.audio, subtitles: subtitles ?? usual.subtitles),
            name: title)
        options.requiresMedia = mediaOnly ?? true
        return options
    }
}

/// Downloads, as `GET /api/v1/downloads` and `downloads --json` report them.
package struct DownloadsDocument: Codable, Sendable {
    /// The first page begins with the downloads that clients wait for. The queue follows in order, and the last page
    /// ends with the entries that have left the queue.
    package let downloads: [DownloadDocument]
    /// The number of queue entries in each state.
    package let counts: DownloadCounts
    /// The value of `after` for the next page; null on the last one.
    @OrNull package var next: String?

    /// Returns this page extended by the next one.
    package func followed(by page: DownloadsDocument) -> DownloadsDocument {
        DownloadsDocument(downloads: downloads + page.downloads, counts: page.counts, next: page.next)
    }
}

/// The answer to a request that queued downloads: one document for each, in the order of the request.
package struct QueuedDocument: Codable, Sendable {
    package let downloads: [DownloadDocument]
}

/// A change to entries of the download queue, the body of `PATCH /api/v1/downloads`.
package struct DownloadChange: Codable, Sendable {
    let act: DownloadAct
    /// The titles whose entries to change; the alternative is ``all``.
    var ids: [TitleID]?
    /// Whether to change all entries.
    var all: Bool?

    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        act = try members.decode(DownloadAct.self, forKey: .act)
        // A member that is present must not be null, because null denotes neither a list nor all entries.
        if members.contains(.ids) { ids = try members.decode([TitleID].self, forKey: .ids) }
        if members.contains(.all) { all = try members.decode(Bool.self, forKey: .all) }
    }

    package init(_ act: DownloadAct, of selection: DownloadSelection) {
        self.act = act
        switch selection {
        case .all: all = true
        case .titles(let titles): ids = titles
        }
    }

    /// - Throws: ``VaultError`` with code `invalidArgument` unless the request has exactly one of `ids` and `all`.
    var selection: DownloadSelection {
        get throws {
            switch (ids, all ?? false) {
            case (let ids?, false): return .titles(ids)
            case (nil, true): return .all
            default:
                throw VaultError(.invalidArgument, "the request must have either ids or all; give one of them")
            }
        }
    }
}

/// The number of entries in the download queue that were changed.
package struct DownloadChangeDocument: Codable, Hashable, Sendable {
    package let changed: Int
}
