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

/// What a subscription is to follow in one run.
package enum SyncList: Sendable {
    /// A list that the operator gives, and how many of its lines cannot be used.
    case given([SyncEntry], unusable: Int)
    /// A feed as its origin has it.
    case feed(FeedAnswer)
}

/// A feed, where it was read, and how what it names is requested.
package struct FeedAnswer: Sendable {
    var feed: Feed
    /// The URL that the operator gave.
    let url: MediaURL
    /// Where it went for good; nil if it is still there.
    let movedTo: MediaURL?
    let reach: TitleReach
    /// Why it may name more than was read; nil if all was read that is wanted.
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

    /// What is to be fetched, with the id of each title.
    package var fetch: [(title: TitleID, entry: SyncEntry)] = []
    package var removals: [Removal] = []
    /// How many titles are as the list wants them.
    package var unchanged = 0
    /// How many titles stay although the list no longer names them, because they are pinned.
    package var pinned = 0
    /// How many titles are removed once everything is whole that the list names.
    package var waiting = 0
    /// How many entries of the list cannot be used; then nothing is removed.
    package var unusable = 0
    /// Why the feed may name more than was read; then nothing is removed. Nil if it does not.
    package var pageFailure: VaultError?
    /// Why not everything was done; nil if it was.
    var failure: VaultError? { pageFailure ?? removals.lazy.compactMap(\.error).first }
    /// What of the feed was read although it is not as it should be, in a few words each: `3 bare &`.
    package var repairs: [String] = []
    /// Whether the feed has moved for good since the run before.
    package var hasMoved = false
    /// The subscription as it is now.
    package var subscription: Subscription
}

extension Subscription.Choices {
    /// The options of the downloads, without a name. A choice that this version does not know is the usual one.
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
    /// Creates the entry of a title of a feed.
    ///
    /// - Parameters:
    ///   - place: what tells the feed from others; nil if the URL of the entry is its identity.
    init(_ entry: FeedEntry, reach: TitleReach, namedWithin place: String?) {
        self.init(reach.reference(to: entry.url), name: entry.title)
        picture = entry.picture.map(reach.reference)
        // Two feeds may have the same names for other things.
        guard let place, let guid = entry.guid else { return }
        let name = "\(place)#\(guid)"
        let isPlain = !name.unicodeScalars.contains { $0.properties.generalCategory == .control }
        if isPlain, name.utf8.count <= MediaReference.maxContentIDBytes { reference.contentID = name }
    }
}

extension ResourceNames {
    /// Returns what tells a feed from others: its URL as the key policy names it, with a hash of its query in place of
    /// the query, because a content id is shown to people, and a query may have a token.
    func feedPlace(_ url: MediaURL) -> String {
        let place = url.origin + url.path
        guard let query = namedQuery(of: url), !query.isEmpty else { return place }
        return place + "?" + Hex.encode(Array(KeyDerivation.checksum(.feedQuery, Array(query.utf8)).prefix(8)))
    }
}

/// A feed in a file of this machine, which the operator named.
package enum FeedFile {
    /// Returns whether a text is a feed rather than a list with a title on each line.
    package static func begins(_ bytes: [UInt8]) -> Bool { Feed.begins(bytes) }

    /// Returns what a feed names. Each URL must be absolute.
    ///
    /// - Parameters:
    ///   - newest: how many entries are wanted; nil for all.
    /// - Returns: the entries, how many cannot be used, and what was read although it is not as it should be.
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
