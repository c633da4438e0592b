import VaultCrypto
package import VaultModel

/// Remembers which resources players' manifests name, so that the resources played from a title are stored as its
/// parts: listed, pinned, removed and shredded with it.
///
/// These names are kept only in memory. After a restart, resources that a player requests without first requesting
/// their manifest become separate resources.
package final class PartOwners: Sendable {
    /// The resources that a manifest names.
    package struct Names: Sendable {
        /// Hashes of URLs. A collision would put a resource under the wrong title, but would do no further harm.
        private var urls: Set<Int> = []
        /// The prefixes of the URLs that DASH templates produce.
        private var folders: Set<String> = []

        /// The maximum number of prefixes remembered.
        private static let maxFolders = 64

        package init() {}

        var count: Int { urls.count }

        /// Adds a URL that the manifest names.
        ///
        /// - Parameter isFolder: whether the URL is a prefix of other URLs.
        package mutating func insert(_ url: MediaURL, isFolder: Bool = false) {
            guard isFolder else {
                urls.insert(url.hashValue)
                return
            }
            if folders.count < Self.maxFolders { folders.insert(url.absoluteString) }
        }

        func contain(_ url: MediaURL) -> Bool {
            if urls.contains(url.hashValue) { return true }
            guard !folders.isEmpty else { return false }
            let text = url.absoluteString
            return folders.contains { text.hasPrefix($0) }
        }
    }

    private struct Entry {
        /// The cache keys of the titles that the manifest belongs to; the manifest's own key if it belongs to none.
        var titles: [[UInt8]]
        var names: Names
        var lastUse: Int
    }

    private struct State {
        var entries: [ResourceID: Entry] = [:]
        /// The total number of URLs in all entries.
        var count = 0
        var uses = 0

        mutating func forget(_ manifest: ResourceID) {
            guard let entry = entries.removeValue(forKey: manifest) else { return }
            count -= entry.names.count
        }
    }

    /// The maximum number of manifests remembered.
    private static let maxManifests = 64
    /// The maximum number of URLs remembered, which take about 16 MiB.
    private static let maxURLs = 1 << 20

    private let maxURLs: Int
    private let state = Locked(State())

    init(maxURLs: Int = PartOwners.maxURLs) { self.maxURLs = maxURLs }

    /// Remembers the resources that a manifest names, in place of those that it named before.
    ///
    /// The least recently used manifests are forgotten to make room for it.
    ///
    /// - Parameters:
    ///   - manifest: the id of the manifest's resource.
    ///   - titles: the cache keys of the titles that the manifest belongs to; its own key if it belongs to none.
    ///   - names: the resources that the manifest names.
    package func note(_ manifest: ResourceID, of titles: [[UInt8]], _ names: Names) {
        state.withLock { state in
            state.forget(manifest)
            guard names.count <= maxURLs else { return }
            while state.entries.count >= Self.maxManifests || state.count + names.count > maxURLs,
                let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                state.forget(oldest.key)
            }
            state.uses += 1
            state.entries[manifest] = Entry(titles: titles, names: names, lastUse: state.uses)
            state.count += names.count
        }
    }

    /// Returns the cache keys of the titles whose manifests name a URL.
    func titles(naming url: MediaURL) -> [[UInt8]] {
        state.withLock { state in
            var titles: [[UInt8]] = []
            for (id, entry) in state.entries where entry.names.contain(url) {
                state.uses += 1
                state.entries[id]?.lastUse = state.uses
                titles += entry.titles.filter { !titles.contains($0) }
            }
            return titles
        }
    }

    /// Forgets all manifests.
    package func removeAll() { state.withLock { $0 = State() } }
}
