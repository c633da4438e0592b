import VaultCrypto
import VaultManifest
import VaultModel

/// A copy of a manifest that may change at its origin. It is in memory only, and only for as long as it is of use.
struct LiveManifest: Sendable {
    let manifest: Manifest
    /// What its origin states about it.
    let information: ContentInformation
    /// Distinguishes it from the versions before.
    let version: String
    /// What it was parsed with.
    let variables: [String: String]
    /// When the request was sent whose answer last confirmed it; nil if it was stored in an earlier run.
    var confirmed: ContinuousClock.Instant?
    /// A hash of its text; nil if it is small, or was stored.
    var digest: ManifestDigest?
    /// How long a thread has worked on it; zero if it is small.
    var work: Duration = .zero

    /// The shortest time between two questions to the origin. Players ask twice at a start, and again at most every
    /// half target duration, which is seldom below a second (RFC 8216 section 6.3.4).
    static let shortestPause: Duration = .milliseconds(500)
    /// The shortest such time, as a multiple of the work: a quarter of a processor is the most that one manifest takes.
    private static let pauseAfterWork = 4
    /// How long a manifest of unknown duration is of use, and the longest time that any is.
    private static let usualWindow: Duration = .seconds(30)
    private static let longestWindow: Duration = .seconds(3600)

    /// Whether the origin was asked so recently that it is not asked again: after one that was much work, for longer.
    func isRecent(now: ContinuousClock.Instant) -> Bool {
        confirmed.map { now - $0 < max(Self.shortestPause, work * Self.pauseAfterWork) } ?? false
    }

    /// Whether it may be given although the origin does not answer: only while something that it names may still be
    /// there.
    func isOfUse(now: ContinuousClock.Instant) -> Bool {
        let window = min(manifest.window ?? Self.usualWindow, Self.longestWindow)
        return confirmed.map { now - $0 < window } ?? false
    }
}

/// What tells the text of a large manifest from others, so that the service does not work on the same one again.
struct ManifestDigest: Hashable, Sendable {
    private let bytes: [UInt8]

    /// Blocks for a large text.
    init(of text: [UInt8]) {
        bytes = KeyDerivation.checksum(.manifest, text)
    }
}

/// The manifests that are being played: a value.
///
/// Each is remembered for as long as its owner lives, which is the loader of its resource; so nothing of a removed,
/// shredded or idle resource stays.
struct PlayedManifests {
    /// A rewritten text, and what it was made from and for.
    struct Text {
        let manifest: RewrittenManifest
        let version: String
        let scope: LinkScope
        let service: String
        /// The revision of the keyring, which increases when links are revoked.
        let revision: Int64
    }

    private struct Entry {
        weak var owner: (any AnyObject & Sendable)?
        let lock = AsyncLock()
        /// Whether it was read as a manifest, or begins like one.
        var isManifest = false
        var live: LiveManifest?
        var text: Text?
        /// The text that was refused last, if it is large, and why.
        var refusal: (digest: ManifestDigest, error: VaultError)?
        var lastUse = 0

        var byteCount: Int { text?.manifest.bytes.count ?? 0 }
        var weight: Int { live?.manifest.weight ?? 0 }
    }

    /// The most bytes of all texts together.
    private let maxBytes: Int
    /// The most memory that all live manifests together take, but for the one used last.
    private let maxWeight: Int
    private var entries: [ResourceID: Entry] = [:]
    private var uses = 0
    /// Live manifests by their URLs without query: low-latency players add another query each time.
    private var liveURLs: Set<String> = []

    private static let maxLiveURLs = 64

    init(maxBytes: Int = 64 << 20, maxWeight: Int = 64 << 20) {
        (self.maxBytes, self.maxWeight) = (maxBytes, maxWeight)
    }

    /// Returns the lock under which one manifest is read and rewritten.
    ///
    /// - Parameter owner: as long as it lives, the manifest is remembered.
    mutating func lock(of id: ResourceID, owner: any AnyObject & Sendable) -> AsyncLock {
        entries = entries.filter { $0.value.owner != nil }
        uses += 1
        var entry = entries[id] ?? Entry()
        entry.owner = owner
        entry.lastUse = uses
        entries[id] = entry
        return entry.lock
    }

    /// Whether a resource is known to be a manifest, whatever its type and path say.
    func contains(_ id: ResourceID) -> Bool {
        guard let entry = entries[id], entry.owner != nil else { return false }
        return entry.isManifest
    }

    /// Records whether a resource is a manifest, whatever its type and path say.
    mutating func note(_ id: ResourceID, isManifest: Bool = true) { entries[id]?.isManifest = isManifest }

    /// Returns the copy of a live manifest.
    func live(_ id: ResourceID) -> LiveManifest? { entries[id]?.live }

    /// Keeps or drops the copy of a live manifest. Those that were not used for the longest time make room for it.
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

    /// Whether a manifest is live at another query of this URL.
    func isLikelyLive(_ url: MediaURL) -> Bool { liveURLs.contains(Self.name(of: url)) }

    /// Returns the text for a link, if it is kept; of any version.
    func text(of id: ResourceID, for scope: LinkScope, at service: String, revision: Int64) -> Text? {
        guard let text = entries[id]?.text, text.scope == scope, text.revision == revision,
            // Only the links in an MPD name the service.
            text.service == service || text.manifest.kind == .hls
        else { return nil }
        return text
    }

    /// Returns why a text was refused; nil if it was not, or another one was since.
    func refusal(of digest: ManifestDigest, _ id: ResourceID) -> VaultError? {
        entries[id]?.refusal.flatMap { $0.digest == digest ? $0.error : nil }
    }

    /// Records that a text was refused.
    mutating func refuse(_ digest: ManifestDigest, _ error: VaultError, of id: ResourceID) {
        entries[id]?.refusal = (digest, error)
    }

    /// Keeps a text in place of the last one of its resource. The least recently used texts make room for it.
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
