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
