package import VaultModel

/// The URLs that one resource can be requested from, shared by all its requests.
package final class OriginURLs: Sendable {
    /// A URL, the request fields given for its origin or for another one, and the network addresses that the URL may
    /// lead to.
    package typealias Source = (url: MediaURL, fields: OriginFields?, reach: NetworkReach)

    private let list: Locked<OriginURLList>
    private let first: MediaURL

    init(_ reference: MediaReference) {
        first = reference.url
        list = Locked(
            OriginURLList(
                reference.url, fields: OriginFields(reference.fields, for: reference.url), reach: reference.reach))
    }

    /// The URL to request next, with its fields and reach.
    package var current: Source {
        list.withLock { list in
            let url = list.current ?? first
            return (url, list.fields, list.reach(of: url))
        }
    }

    /// Adds a URL that a caller supplied.
    func give(_ reference: MediaReference) {
        list.withLock {
            $0.give(
                reference.url, fields: OriginFields(reference.fields, for: reference.url), reach: reference.reach)
        }
    }

    /// Returns which network addresses a URL may lead to.
    func reach(of url: MediaURL) -> NetworkReach { list.withLock { $0.reach(of: url) } }

    /// Adds the URL that the index has.
    func recall(_ source: Source) {
        list.withLock { $0.recall(source.url, fields: source.fields, reach: source.reach) }
    }

    /// Records that the origin refused a URL that was requested with these fields.
    ///
    /// - Returns: whether an untried URL remains, or the refused one can be tried with other fields.
    func refuse(_ source: Source) -> Bool {
        list.withLock { $0.refuse(source.url, sentWith: source.fields) }
    }

    /// Whether an untried URL remains.
    var isLeft: Bool { list.withLock { $0.isLeft } }

    /// Records that the origin accepted a URL.
    func grant(_ url: MediaURL) { list.withLock { $0.grant(url) } }

    /// Returns the source to write to the index after the origin answered a request to a URL; nil if nothing needs to
    /// be written now.
    func takeChange(of url: MediaURL) -> Source? {
        list.withLock { $0.takeChange(of: url, now: .now) ? (url, $0.fields, $0.reach(of: url)) : nil }
    }
}

extension MediaReference {
    /// The network addresses that the reference's URL may lead to.
    package var reach: NetworkReach { isDerived ? .publicOnly : .anywhere }
}

/// A value with the URLs that were given for one resource, and the request fields that belong to them.
///
/// Signed URLs expire and are renewed, so the newest URL is used unless the origin refused it and another one remains.
struct OriginURLList {
    private struct Entry {
        let url: MediaURL
        let reach: NetworkReach
        var isRefused = false
    }

    /// The URLs, oldest first.
    private var entries: [Entry] = []
    /// The most recently given request fields, and the origin that they were given for.
    private(set) var fields: OriginFields?
    /// The source that the index is known to have; nil if none is known.
    private var told: (url: MediaURL, fields: OriginFields?, reach: NetworkReach, at: ContinuousClock.Instant?)?

    /// The maximum number of URLs remembered.
    static let most = 4
    /// The minimum time between two writes of a new URL to the index.
    static let pace: Duration = .seconds(60)

    init(_ url: MediaURL, fields: OriginFields? = nil, reach: NetworkReach = .anywhere) {
        entries = [Entry(url: url, reach: reach)]
        self.fields = fields
    }

    /// The URL to request next: the newest that was not refused or, if all were, the newest.
    var current: MediaURL? { (entries.last { !$0.isRefused } ?? entries.last)?.url }

    /// Adds a URL that a caller supplied; fields that came with it replace earlier ones.
    mutating func give(_ url: MediaURL, fields: OriginFields?, reach: NetworkReach = .anywhere) {
        // Most requests name the newest URL again.
        if let newest = entries.last, newest.url == url, newest.reach == .anywhere || newest.reach == reach,
            fields == nil || fields == self.fields
        {
            return
        }
        let known = entries.first { $0.url == url }
        entries.removeAll { $0.url == url }
        // A URL that the operator has named may lead anywhere, even if a manifest or a redirect names it again.
        entries.append(
            Entry(
                url: url, reach: known?.reach == .anywhere ? .anywhere : reach, isRefused: known?.isRefused ?? false))
        // With other fields, the origin may accept URLs that it refused before.
        if let fields, fields != self.fields {
            self.fields = fields
            for index in entries.indices { entries[index].isRefused = false }
        }
        if entries.count > Self.most {
            entries.remove(at: entries.firstIndex { $0.isRefused } ?? entries.startIndex)
        }
    }

    /// Adds the URL from the index as the oldest one.
    ///
    /// The URL keeps its reach, so that a restart does not turn a URL from a manifest or a redirect into one that the
    /// operator named.
    mutating func recall(_ url: MediaURL, fields: OriginFields?, reach: NetworkReach = .anywhere) {
        if !entries.contains(where: { $0.url == url }) {
            entries.insert(Entry(url: url, reach: reach), at: 0)
        }
        self.fields = self.fields ?? fields
        told = (url, fields, reach, nil)
    }

    /// Returns which network addresses a URL may lead to.
    func reach(of url: MediaURL) -> NetworkReach { entries.first { $0.url == url }?.reach ?? .publicOnly }

    /// Records that the origin refused a URL.
    ///
    /// - Returns: whether an untried URL remains.
    mutating func refuse(_ url: MediaURL) -> Bool {
        mark(url, isRefused: true)
        return isLeft
    }

    /// Records that the origin refused a request with these fields. If other fields have been given since then, the
    /// origin may still accept the URL.
    mutating func refuse(_ url: MediaURL, sentWith fields: OriginFields?) -> Bool {
        fields == self.fields ? refuse(url) : true
    }

    /// Whether an untried URL remains.
    var isLeft: Bool { entries.contains { !$0.isRefused } }

    /// Records that the origin accepted a URL.
    mutating func grant(_ url: MediaURL) { mark(url, isRefused: false) }

    /// Returns whether to write a URL to the index after the origin answered a request to it; if so, counts it as
    /// written.
    mutating func takeChange(of url: MediaURL, now: ContinuousClock.Instant) -> Bool {
        guard url == current else { return false }
        guard let known = told else {
            // Nothing was loaded from the index. If the new resource's row already has this URL, the write changes
            // nothing.
            told = (url, fields, reach(of: url), nil)
            return true
        }
        let reach = reach(of: url)
        guard known.url != url || known.fields != fields || known.reach != reach else { return false }
        if let last = known.at, known.fields == fields, now - last < Self.pace { return false }
        told = (url, fields, reach, now)
        return true
    }

    private mutating func mark(_ url: MediaURL, isRefused: Bool) {
        for index in entries.indices where entries[index].url == url { entries[index].isRefused = isRefused }
    }
}
