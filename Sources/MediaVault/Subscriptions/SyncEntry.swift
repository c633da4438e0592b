import VaultCache
import VaultCrypto
import VaultManifest
public import VaultModel

/// A title that the list of a subscription names.
public struct SyncEntry: Sendable {
    /// The reference by which the title is named and requested.
    public var reference: MediaReference
    /// The title's name for display; nil if the list states none.
    public var name: String?
    /// The picture that the list names for the title; nil if it names none.
    public var picture: MediaReference?
    /// When the title was published, in seconds since 1970; nil if the list does not say.
    package var published: Int64?

    /// Creates an entry.
    public init(_ reference: MediaReference, name: String? = nil) { (self.reference, self.name) = (reference, name) }
}

/// The list that a subscription follows in one run.
public enum SyncList: Sendable {
    /// A list that the operator provides, and the number of its lines that are unusable.
    case given([SyncEntry], unusable: Int)
    /// A feed that was read from its origin.
    case feed(FeedAnswer)
}

/// A feed, the address from which it was read, and how to request the resources that it names.
public struct FeedAnswer: Sendable {
    var feed: Feed
    /// The feed's URL, as the operator gave it.
    let url: MediaURL
    /// The permanent new address of the feed; nil if it has not moved.
    let movedTo: MediaURL?
    let reach: TitleReach
    /// Why the feed may name more titles than were read; nil if everything wanted was read.
    var failure: VaultError?
}

/// The result of a sync, or of a dry run.
public struct SyncReport: Sendable {
    /// A title that a sync removes.
    public struct Removal: Sendable {
        /// The title's id.
        public let title: TitleID
        /// The title's name, or its URL if it has no name; nil if the vault does not have the title.
        public let name: String?
        /// Why the removal failed; nil if it did not fail.
        public var error: VaultError?
    }

    /// The entries to fetch, with the id of each title.
    public var fetch: [(title: TitleID, entry: SyncEntry)] = []
    /// The titles to remove, or that were removed.
    public var removals: [Removal] = []
    /// The number of titles that the list names and that are already held whole.
    public var unchanged = 0
    /// The number of titles that are kept, although the list no longer names them, because they are pinned.
    public var pinned = 0
    /// The number of titles that will be removed once every title that the list names is held whole.
    public var waiting = 0
    /// The number of unusable entries in the list. If there are any, nothing is removed.
    public var unusable = 0
    /// Why the feed may name more titles than were read; nil if it does not. If it is set, nothing is removed.
    public var pageFailure: VaultError?
    /// Why the sync is incomplete; nil if it is complete.
    public var failure: VaultError? { pageFailure ?? removals.lazy.compactMap(\.error).first }
    /// The faults of the feed that were repaired, each in a few words, such as `3 bare &`.
    public var repairs: [String] = []
    /// Whether the feed has moved permanently since the previous run.
    public var hasMoved = false
    /// The subscription after the sync.
    public var subscription: MediaSubscription
}

extension MediaSubscription.Choices {
    /// The options for the downloads. No name is set, and each choice that this version does not recognize has its
    /// default.
    public var options: DownloadOptions {
        let usual = RenditionSelection()
        var options = DownloadOptions(
            selection: RenditionSelection(
                video: video.flatMap { RenditionSelection.Video(rawValue: $0) } ?? usual.video,
                audio: audio.flatMap { RenditionSelection.Audio(rawValue: $0) } ?? usual.audio,
                subtitles: subtitles.flatMap { RenditionSelection.Subtitles(rawValue: $0) } ?? usual.subtitles))
        options.requiresMedia = !takesAnyType
        return options
    }
}

extension SyncEntry {
    /// Creates the entry for a title of a feed.
    ///
    /// - Parameters:
    ///   - place: the text that distinguishes the feed from others; nil if the entry is identified by its URL.
    init(_ entry: FeedEntry, reach: TitleReach, namedWithin place: String?) {
        self.init(reach.reference(to: entry.url), name: entry.title)
        picture = entry.picture.map(reach.reference)
        published = entry.date
        // Two feeds may use the same ids for different entries, so the feed's place is part of the name.
        guard let place, let guid = entry.guid else { return }
        let name = "\(place)#\(guid)"
        let isPlain = !name.unicodeScalars.contains { $0.properties.generalCategory == .control }
        if isPlain, name.utf8.count <= MediaReference.maxContentIDBytes { reference.contentID = name }
    }
}

extension ResourceNames {
    /// Returns the text that distinguishes a feed from others: its URL as the key policy names it, with a hash in place
    /// of the query. The query is hashed because users see content ids, and a query may contain a token.
    func feedPlace(_ url: MediaURL) -> String {
        let place = url.origin + url.path
        guard let query = namedQuery(of: url), !query.isEmpty else { return place }
        return place + "?" + Hex.encode(Array(KeyDerivation.checksum(.feedQuery, Array(query.utf8)).prefix(8)))
    }
}

/// Reads a feed from a local file that the operator named.
public enum FeedFile {
    /// Returns whether a file's bytes are a feed rather than a list with one title on each line.
    public static func begins(_ bytes: [UInt8]) -> Bool { Feed.begins(bytes) }

    /// Returns the entries of a feed. Each URL in it must be absolute.
    ///
    /// - Parameters:
    ///   - bytes: the bytes of the file.
    ///   - newest: the number of entries wanted, at least 0; nil for all.
    /// - Returns: the entries, the number of unusable entries, and the faults that were repaired.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the feed cannot be read.
    public static func read(
        _ bytes: [UInt8], newest: Int?
    ) throws -> (entries: [SyncEntry], unusable: Int, repairs: [String]) {
        do throws(FeedError) {
            let feed = try Feed(bytes, at: nil)
            var known: Set<MediaURL> = []
            let each = feed.entries(underLimit: newest).filter { known.insert($0.url).inserted }
            let entries = each.prefix(max(0, newest ?? .max)).map { stated in
                var entry = SyncEntry(MediaReference(stated.url), name: stated.title)
                entry.published = stated.date
                return entry
            }
            return (entries, feed.unusable, feed.repairs.texts)
        } catch {
            throw VaultError(
                .invalidArgument, "the list cannot be read: \(error); \(error.remedy ?? "correct the file")")
        }
    }
}
