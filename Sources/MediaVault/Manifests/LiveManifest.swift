import VaultCache
import VaultCrypto
import VaultManifest
import VaultModel

/// A copy of a manifest that may change at its origin. The copy is kept only in memory, and only while it is useful.
struct LiveManifest: Sendable {
    let manifest: Manifest
    /// What is known of the manifest without its text.
    let information: ContentInformation
    /// The name of this version of the manifest, which distinguishes it from earlier versions.
    let version: String
    /// The variables with which the manifest was parsed.
    let variables: [String: String]
    /// The time of the request whose answer last confirmed the manifest; nil if the manifest was read from the vault,
    /// or was stale when it was read.
    var confirmed: ContinuousClock.Instant?
    /// A hash of the manifest's text; nil if the text is small, or was stored.
    var digest: ManifestDigest?
    /// How long threads have worked on the manifest; zero if it is small.
    var work: Duration = .zero

    /// The minimum time between two requests to the origin. Players request a manifest twice at the start, and again at
    /// most every half target duration, which is seldom below a second (RFC 8216 section 6.3.4).
    static let shortestPause: Duration = .milliseconds(500)
    /// The minimum time as a multiple of ``work``, so that one manifest takes up at most a quarter of a processor.
    private static let pauseAfterWork = 4
    /// How long a manifest of unknown duration is useful, and the maximum for any manifest.
    private static let usualWindow: Duration = .seconds(30)
    private static let longestWindow: Duration = .seconds(3600)

    /// Returns whether the origin was asked too recently to be asked again. The pause is longer for a manifest that
    /// takes much work.
    func isRecent(now: ContinuousClock.Instant) -> Bool {
        confirmed.map { now - $0 < max(Self.shortestPause, work * Self.pauseAfterWork) } ?? false
    }

    /// Returns whether the copy may be served although the origin does not answer, which it may while something that
    /// the manifest names may still exist.
    func isOfUse(now: ContinuousClock.Instant) -> Bool {
        let window = min(manifest.window ?? Self.usualWindow, Self.longestWindow)
        return confirmed.map { now - $0 < window } ?? false
    }
}

/// Identifies the text of a large manifest, so that the service does not process the same text again.
struct ManifestDigest: Hashable, Sendable {
    private let bytes: [UInt8]

    /// Computes the digest. For a large text, this blocks.
    init(of text: [UInt8]) {
        bytes = KeyDerivation.checksum(.manifest, text)
    }
}

/// The manifests that are being played. It is a value type.
///
/// Each is kept only while the loader of its resource exists. Therefore nothing remains of a removed, shredded or idle
/// resource.
struct PlayedManifests {
    /// A rewritten manifest text, with the version from which it was made and the link for which it was made.
    struct Text {
        let manifest: RewrittenManifest
        let version: String
        let scope: LinkScope
        let service: String
        /// The keyring revision at the time, which increases when links are revoked.
        let revision: Int64
    }

    private struct Entry {
        weak var owner: (any AnyObject & Sendable)?
        let lock = AsyncLock()
        /// Whether the resource was read as a manifest, or begins like one.
        var isManifest = false
        var live: LiveManifest?
        var text: Text?
        /// The digest of the text that was last refused, if it is large, and the reason.
        var refusal: (digest: ManifestDigest, error: VaultError)?
        var lastUse = 0

        var byteCount: Int { text?.manifest.bytes.count ?? 0 }
        var weight: Int { live?.manifest.weight ?? 0 }
    }

    /// The maximum total size of all texts, in bytes.
    private let maxBytes: Int
    /// The maximum memory of all live manifests together. The most recently used one is kept even if it exceeds this.
    private let maxWeight: Int
    private var entries: [ResourceID: Entry] = [:]
    private var uses = 0
    /// The URLs of live manifests, without queries, because low-latency players use a new query each time.
    private var liveURLs: Set<String> = []

    private static let maxLiveURLs = 64

    init(maxBytes: Int = 64 << 20, maxWeight: Int = 64 << 20) {
        (self.maxBytes, self.maxWeight) = (maxBytes, maxWeight)
    }

    /// Returns the lock under which a manifest is read and rewritten.
    ///
    /// - Parameters:
    ///   - id: the manifest's resource.
    ///   - owner: the object that the manifest is remembered for; it is forgotten once its owner is released.
    mutating func lock(of id: ResourceID, owner: any AnyObject & Sendable) -> AsyncLock {
        entries = entries.filter { $0.value.owner != nil }
        uses += 1
        var entry = entries[id] ?? Entry()
        entry.owner = owner
        entry.lastUse = uses
        entries[id] = entry
        return entry.lock
    }

    /// Returns whether a resource is known to be a manifest, regardless of its type and path.
    func contains(_ id: ResourceID) -> Bool {
        guard let entry = entries[id], entry.owner != nil else { return false }
        return entry.isManifest
    }

    /// Records whether a resource is a manifest, regardless of its type and path.
    mutating func note(_ id: ResourceID, isManifest: Bool = true) { entries[id]?.isManifest = isManifest }

    /// Returns the copy of a live manifest; nil if none is kept.
    func live(_ id: ResourceID) -> LiveManifest? { entries[id]?.live }

    /// Replaces the copy of a live manifest, or drops it if `live` is nil. To make room, the least recently used copies
    /// are dropped.
    mutating func keep(_ live: LiveManifest?, of id: ResourceID, at url: MediaURL) {
        entries[id]?.live = live
        note(id)
        if live != nil { makeRoom(for: id) }
        let name = Self.name(of: url)
        if live == nil {
            liveURLs.remove(name)
        } else if liveURLs.count < Self.maxLiveURLs {
            liveURLs.insert(name)
        }
    }

    /// Returns whether this URL, apart from its query, names a live manifest.
    func isLikelyLive(_ url: MediaURL) -> Bool { liveURLs.contains(Self.name(of: url)) }

    /// Returns the text kept for a link, of any version; nil if none is kept.
    func text(of id: ResourceID, for scope: LinkScope, at service: String, revision: Int64) -> Text? {
        guard let text = entries[id]?.text, text.scope == scope, text.revision == revision,
            // Only an MPD has links that name the service.
            text.service == service || text.manifest.kind == .hls
        else { return nil }
        return text
    }

    /// Returns why a text was refused; nil if it was not refused, or if another text has been refused since then.
    func refusal(of digest: ManifestDigest, _ id: ResourceID) -> VaultError? {
        entries[id]?.refusal.flatMap { $0.digest == digest ? $0.error : nil }
    }

    /// Records that a text was refused.
    mutating func refuse(_ digest: ManifestDigest, _ error: VaultError, of id: ResourceID) {
        entries[id]?.refusal = (digest, error)
    }

    /// Keeps a text in place of its resource's previous one. To make room, the least recently used texts are dropped.
    mutating func keep(_ text: Text, of id: ResourceID) {
        entries[id]?.text = text
        note(id)
        var total = entries.values.reduce(into: 0) { $0 += $1.byteCount }
        for id in entries.keys.sorted(by: { lastUse(of: $0) < lastUse(of: $1) }) where total > maxBytes {
            total -= entries[id]?.byteCount ?? 0
            entries[id]?.text = nil
        }
    }

    private mutating func makeRoom(for newest: ResourceID) {
        var total = entries.values.reduce(into: 0) { $0 += $1.weight }
        guard total > maxWeight else { return }
        for id in entries.keys.sorted(by: { lastUse(of: $0) < lastUse(of: $1) }) where id != newest {
            guard total > maxWeight else { return }
            total -= entries[id]?.weight ?? 0
            entries[id]?.live = nil
        }
    }

    private func lastUse(of id: ResourceID) -> Int { entries[id]?.lastUse ?? 0 }

    /// Forgets everything.
    mutating func removeAll() { (entries, liveURLs) = ([:], []) }

    private static func name(of url: MediaURL) -> String { url.origin + url.path }
}
