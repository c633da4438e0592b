import VaultCrypto
import VaultManifest
package import VaultModel

/// A title that a list names.
package struct SyncEntry: Sendable {
    /// How it is named and requested.
    package var reference: MediaReference
    /// The name for people; nil if the list states none.
    package var name: String?
    /// The picture that the list names for it; nil if it names none.
    package var picture: MediaReference?

    /// Creates an entry.
    package init(_ reference: MediaReference, name: String? = nil) { (self.reference, self.name) = (reference, name) }
}

/// The list that a subscription follows in one run.
package enum SyncList: Sendable {
    /// A list that the operator provides, and the number of its lines that cannot be used.
    case given([SyncEntry], unusable: Int)
    /// A feed as read from its origin.
    case feed(FeedAnswer)
}

/// A feed, where it was read, and how to request what it names.
package struct FeedAnswer: Sendable {
    var feed: Feed
    /// The URL that the operator gave.
    let url: MediaURL
    /// Where it moved for good; nil if it is still there.
    let movedTo: MediaURL?
    let reach: TitleReach
    /// Why it may name more than was read; nil if everything wanted was read.
    var failure: VaultError?
}

/// What a sync did, or would do.
package struct SyncReport: Sendable {
    /// A title that a sync removes.
    package struct Removal: Sendable {
        package let title: TitleID
        /// Its name, else its URL; nil if the vault has nothing of it.
        package let name: String?
        /// Why it could not be removed.
        package var error: VaultError?
    }

    /// The entries to fetch, with the id of each title.
    package var fetch: [(title: TitleID, entry: SyncEntry)] = []
    package var removals: [Removal] = []
    /// The number of titles that are as the list wants them.
    package var unchanged = 0
    /// The number of titles that stay although the list no longer names them, because they are pinned.
    package var pinned = 0
    /// The number of titles that will be removed once everything that the list names is held whole.
    package var waiting = 0
    /// The number of entries of the list that cannot be used; if there are any, nothing is removed.
    package var unusable = 0
    /// Why the feed may name more than was read, in which case nothing is removed; nil if it does not.
    package var pageFailure: VaultError?
    /// Why not everything was done; nil if everything was.
    var failure: VaultError? { pageFailure ?? removals.lazy.compactMap(\.error).first }
    /// The faults of the feed that were repaired, in a few words each: `3 bare &`.
    package var repairs: [String] = []
    /// Whether the feed has moved for good since the previous run.
    package var hasMoved = false
    /// The subscription after the sync.
    package var subscription: Subscription
}

extension Subscription.Choices {
    /// The options of the downloads, without a name, and with the default for each choice that this version does not
    /// know.
    package var options: DownloadOptions {
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
    ///   - place: what distinguishes the feed from others; nil if the entry's URL is its identity.
    init(_ entry: FeedEntry, reach: TitleReach, namedWithin place: String?) {
        self.init(reach.reference(to: entry.url), name: entry.title)
        picture = entry.picture.map(reach.reference)
        // Two feeds may use the same names for different things.
        guard let place, let guid = entry.guid else { return }
        let name = "\(place)#\(guid)"
        let isPlain = !name.unicodeScalars.contains { $0.properties.generalCategory == .control }
        if isPlain, name.utf8.count <= MediaReference.maxContentIDBytes { reference.contentID = name }
    }
}

extension ResourceNames {
    /// Returns what distinguishes a feed from others: its URL as the key policy names it, with a hash in place of the
    /// query, because people see a content id, and a query may contain a token.
    func feedPlace(_ url: MediaURL) -> String {
        let place = url.origin + url.path
        guard let query = namedQuery(of: url), !query.isEmpty else { return place }
        return place + "?" + Hex.encode(Array(KeyDerivation.checksum(.feedQuery, Array(query.utf8)).prefix(8)))
    }
}

/// A feed in a local file, which the operator named.
package enum FeedFile {
    /// Returns whether a text is a feed rather than a list with a title on each line.
    package static func begins(_ bytes: [UInt8]) -> Bool { Feed.begins(bytes) }

    /// Returns what a feed names. Each URL must be absolute.
    ///
    /// - Parameters:
    ///   - newest: the number of entries wanted; nil for all.
    /// - Returns: the entries, the number that cannot be used, and the faults that were repaired.
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    package static func read(
        _ bytes: [UInt8], newest: Int?
    ) throws -> (entries: [SyncEntry], unusable: Int, repairs: [String]) {
        do throws(FeedError) {
            let feed = try Feed(bytes, at: nil)
            var known: Set<MediaURL> = []
            let each = feed.entries(underLimit: newest).filter { known.insert($0.url).inserted }
            let entries = each.prefix(newest ?? .max).map { SyncEntry(MediaReference($0.url), name: $0.title) }
            return (entries, feed.unusable, feed.repairs.texts)
        } catch {
            throw VaultError(
                .invalidArgument, "the list cannot be read: \(error); \(error.remedy ?? "correct the file")")
        }
    }
}
