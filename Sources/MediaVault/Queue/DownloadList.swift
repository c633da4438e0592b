import VaultCache
import VaultModel
import VaultStorage

/// The entries of the download queue in their order. It is a value type.
struct DownloadList: Sendable {
    /// An entry of the queue and its progress.
    struct Entry: Sendable {
        var download: QueuedDownload
        /// The host and port of the entry's URL.
        let host: String
        /// The entry's progress in this process; nil if it has not run here.
        var progress: DownloadProgress?
        /// The name that the vault has for the title; nil if it has none.
        var titleName: String?
        /// The queue's revision at the entry's last change in this process.
        var revision = 0

        var candidate: DownloadSchedule.Candidate {
            DownloadSchedule.Candidate(
                id: download.id, host: host, isWaiting: download.state == .waiting, notBefore: download.notBefore)
        }
    }

    /// An entry's place in the order; no two entries share one.
    struct Place: Hashable, Comparable, Sendable {
        let position: Int64
        let id: DownloadID

        static func < (one: Place, other: Place) -> Bool {
            one.position == other.position
                ? one.id.bytes.lexicographicallyPrecedes(other.id.bytes) : one.position < other.position
        }
    }

    private var entries: [DownloadID: Entry] = [:]
    private var titles: [TitleID: Set<DownloadID>] = [:]
    /// The places of all entries, in ascending order.
    private var places: [Place] = []
    /// The number of entries for each host.
    private var hosts: [String: Int] = [:]

    init(_ downloads: [QueuedDownload] = []) {
        for download in downloads { add(download) }
        places = downloads.map(\.place).sorted()
    }

    var count: Int { places.count }
    /// The number of hosts that have entries.
    var hostCount: Int { hosts.count }

    /// The entries in their order.
    var inOrder: some Sequence<Entry> { places.lazy.compactMap { [entries] in entries[$0.id] } }

    /// Returns at most `limit` entries after a place, in order.
    func entries(after place: Place?, limit: Int) -> [Entry] {
        let start = place.map { index(after: $0) } ?? 0
        return places[start...].prefix(limit).compactMap { entries[$0.id] }
    }

    subscript(id: DownloadID) -> Entry? { entries[id] }

    /// Returns the entries for a title: usually one, in rare cases several.
    func entries(of title: TitleID) -> [Entry] { titles[title, default: []].compactMap { entries[$0] } }

    /// The position before that of every entry.
    var firstPosition: Int64 { (places.first?.position ?? QueuedDownload.middle) - 1 }
    /// The position after that of every entry.
    var lastPosition: Int64 { (places.last?.position ?? QueuedDownload.middle - 1) + 1 }

    // MARK: Changes

    /// Adds or replaces several entries, as ``put(_:revision:)-(QueuedDownload,_)`` does for one.
    mutating func put(_ downloads: [QueuedDownload], revision: Int) {
        // Inserting a single entry shifts all places after it, so many entries are sorted at once instead.
        guard downloads.count > Self.mostByThemselves else {
            for download in downloads { put(download, revision: revision) }
            return
        }
        for download in downloads {
            drop(download.id)
            add(download)
            entries[download.id]?.revision = revision
        }
        places = entries.values.map(\.download.place).sorted()
    }

    /// The maximum number of entries that are inserted one by one.
    private static let mostByThemselves = 64

    /// Adds an entry, or replaces its content if it is already listed; its progress is kept.
    mutating func put(_ download: QueuedDownload, revision: Int) {
        if let known = entries[download.id] {
            remove(known.download.place)
            drop(download.id)
        }
        add(download)
        entries[download.id]?.revision = revision
        places.insert(download.place, at: index(after: download.place))
    }

    /// Replaces all entries. Those that were already listed keep their progress.
    ///
    /// - Returns: whether an entry that was listed is gone.
    mutating func replace(with downloads: [QueuedDownload], revision: Int) -> Bool {
        let former = entries
        self = DownloadList(downloads)
        for id in entries.keys {
            note(former[id]?.progress, of: id, revision: revision)
            note(name: former[id]?.titleName, of: id)
        }
        return former.keys.contains { entries[$0] == nil }
    }

    /// Removes an entry and returns it.
    @discardableResult
    mutating func remove(_ id: DownloadID) -> Entry? {
        guard let entry = entries[id] else { return nil }
        remove(entry.download.place)
        drop(id)
        entries[id] = nil
        return entry
    }

    /// Records an entry's progress.
    mutating func note(_ progress: DownloadProgress?, of id: DownloadID, revision: Int) {
        entries[id]?.progress = progress
        entries[id]?.revision = revision
    }

    /// Records the name that the vault has for an entry's title.
    mutating func note(name: String?, of id: DownloadID) { entries[id]?.titleName = name }

    private mutating func add(_ download: QueuedDownload) {
        let host = (try? MediaURL(download.order.url))?.authority ?? ""
        entries[download.id] = Entry(
            download: download, host: host, progress: entries[download.id]?.progress,
            titleName: entries[download.id]?.titleName,
            revision: entries[download.id]?.revision ?? 0)
        titles[download.title, default: []].insert(download.id)
        hosts[host, default: 0] += 1
    }

    /// Removes an entry from the per-title and per-host tables, before it is removed or added again.
    private mutating func drop(_ id: DownloadID) {
        guard let entry = entries[id] else { return }
        let title = entry.download.title
        titles[title]?.remove(id)
        if titles[title]?.isEmpty == true { titles[title] = nil }
        hosts[entry.host, default: 1] -= 1
        if hosts[entry.host] == 0 { hosts[entry.host] = nil }
    }

    private mutating func remove(_ place: Place) {
        let index = index(after: place) - 1
        if places.indices.contains(index), places[index] == place { places.remove(at: index) }
    }

    /// Returns the index of the first place that sorts after this one.
    private func index(after place: Place) -> Int {
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if place < places[middle] { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension QueuedDownload {
    /// The entry's place in the order of the queue.
    var place: DownloadList.Place { DownloadList.Place(position: position, id: id) }
}
