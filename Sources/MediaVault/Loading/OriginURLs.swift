import VaultModel

/// Where the bytes of one resource can be asked for, shared by all who ask.
final class AddressBook: Sendable {
    /// An address, the fields that were given for its origin or another, and where it may lie.
    typealias Source = (url: MediaURL, fields: OriginFields?, reach: NetworkReach)

    private let addresses: Locked<OriginAddresses>
    private let first: MediaURL

    init(_ reference: MediaReference) {
        first = reference.url
        addresses = Locked(
            OriginAddresses(
                reference.url, fields: OriginFields(reference.fields, for: reference.url), reach: reference.reach))
    }

    /// What to ask next.
    var current: Source {
        addresses.withLock { addresses in
            let url = addresses.current ?? first
            return (url, addresses.fields, addresses.reach(of: url))
        }
    }

    /// Somebody gave an address.
    func give(_ reference: MediaReference) {
        addresses.withLock {
            $0.give(
                reference.url, fields: OriginFields(reference.fields, for: reference.url), reach: reference.reach)
        }
    }

    /// Where an address may lie.
    func reach(of url: MediaURL) -> NetworkReach { addresses.withLock { $0.reach(of: url) } }

    /// The index remembers an address.
    func recall(_ source: Source) {
        addresses.withLock { $0.recall(source.url, fields: source.fields, reach: source.reach) }
    }

    /// The origin refused an address.
    ///
    /// - Returns: whether another is left to ask.
    func refuse(_ url: MediaURL) -> Bool { addresses.withLock { $0.refuse(url) } }

    /// The origin granted an address.
    func grant(_ url: MediaURL) { addresses.withLock { $0.grant(url) } }

    /// What the index has to be told after the origin has answered to an address; nil where it knows.
    func takeNews(of url: MediaURL) -> Source? {
        addresses.withLock { $0.takeNews(of: url, now: .now) ? (url, $0.fields, $0.reach(of: url)) : nil }
    }
}

extension MediaReference {
    /// Where its URL may lie.
    fileprivate var reach: NetworkReach { isDerived ? .publicOnly : .anywhere }
}

/// The addresses that were given for one resource, and the request fields that go with them: a value.
///
/// Signed addresses run out and are renewed. The newest counts, unless the origin refused it and knows another.
struct OriginAddresses {
    private struct Address {
        let url: MediaURL
        let reach: NetworkReach
        var isRefused = false
    }

    /// The oldest first.
    private var addresses: [Address] = []
    /// The fields given last, and the origin they were given for.
    private(set) var fields: OriginFields?
    /// What the index was last told.
    private var told: (url: MediaURL, fields: OriginFields?, reach: NetworkReach, at: ContinuousClock.Instant?)?

    /// The most addresses that are remembered.
    static let most = 4
    /// The index is told of a new address no more often.
    static let pace: Duration = .seconds(60)

    init(_ url: MediaURL, fields: OriginFields? = nil, reach: NetworkReach = .anywhere) {
        addresses = [Address(url: url, reach: reach)]
        self.fields = fields
    }

    /// The address to ask next: of those that were not refused, or else of all, the newest.
    var current: MediaURL? { (addresses.last { !$0.isRefused } ?? addresses.last)?.url }

    /// Somebody gave an address; fields that came with it take the place of earlier ones.
    mutating func give(_ url: MediaURL, fields: OriginFields?, reach: NetworkReach = .anywhere) {
        let known = addresses.first { $0.url == url }
        addresses.removeAll { $0.url == url }
        // What the operator has named once may be asked wherever it lies, whoever names it again.
        addresses.append(
            Address(
                url: url, reach: known?.reach == .anywhere ? .anywhere : reach, isRefused: known?.isRefused ?? false))
        // Other fields are another question: what was refused before may be granted.
        if let fields, fields != self.fields {
            self.fields = fields
            for index in addresses.indices { addresses[index].isRefused = false }
        }
        if addresses.count > Self.most {
            addresses.remove(at: addresses.firstIndex { $0.isRefused } ?? addresses.startIndex)
        }
    }

    /// What the index remembers is older than all that was given since. It may lie where it might when it was given: a
    /// restart makes no address of a manifest's or a redirect's one that the operator has named.
    mutating func recall(_ url: MediaURL, fields: OriginFields?, reach: NetworkReach = .anywhere) {
        if !addresses.contains(where: { $0.url == url }) {
            addresses.insert(Address(url: url, reach: reach), at: 0)
        }
        self.fields = self.fields ?? fields
        told = (url, fields, reach, nil)
    }

    /// Where an address may lie.
    func reach(of url: MediaURL) -> NetworkReach { addresses.first { $0.url == url }?.reach ?? .publicOnly }

    /// The origin refused an address.
    ///
    /// - Returns: whether another is left to ask.
    mutating func refuse(_ url: MediaURL) -> Bool {
        mark(url, isRefused: true)
        return addresses.contains { !$0.isRefused }
    }

    /// The origin answered to an address.
    mutating func grant(_ url: MediaURL) { mark(url, isRefused: false) }

    /// Whether the index has to be told of an address that the origin has answered to; from now on it has been.
    mutating func takeNews(of url: MediaURL, now: ContinuousClock.Instant) -> Bool {
        guard url == current else { return false }
        guard let known = told else {
            // The row of a new resource has it already.
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
        for index in addresses.indices where addresses[index].url == url { addresses[index].isRefused = isRefused }
    }
}
