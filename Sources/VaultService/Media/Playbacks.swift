import MediaVault
import VaultModel

/// Tracks who is playing which title, based on requests made through playback links.
///
/// Players request media piece by piece, so a playback lasts while an answer is being sent, and for a while after its
/// last request.
final class Playbacks: Sendable {
    /// The person or grant for which a playback link was created.
    enum Holder: Hashable, Sendable {
        case viewer(ViewerID)
        /// A token, a named link, or a session.
        case grant(GrantID)
        /// An unidentified holder, because the link has no name.
        case unknown

        init(_ scope: LinkScope) {
            self = scope.hidden.map { .viewer($0.viewer) } ?? scope.grant.map { .grant($0) } ?? .unknown
        }
    }

    /// One holder's playback through one link.
    struct Playback: Sendable {
        let holder: Holder
        /// The most recently requested resource, which is the title or a part of it.
        var resource: NamedResource
        /// The title, if the link is a viewer's.
        let title: TitleID?
        /// When the playback began, and when the player last made a request, in seconds since 1970.
        var (began, last): (Int64, Int64)
        /// The number of answers that are being sent.
        var open = 0
    }

    fileprivate struct Key: Hashable {
        /// The identity of what is played. It is determined without reading the index, because a title's parts share
        /// its link.
        enum Subject: Hashable {
            case title(TitleID)
            case link(String)
            case resource(ResourceID)
        }

        let holder: Holder
        let subject: Subject

        init(_ link: LinkScope, _ resource: NamedResource) {
            holder = Holder(link)
            subject =
                link.hidden.map { .title($0.title) } ?? link.capability.map { .link($0) } ?? .resource(resource.id)
        }
    }

    private let known = Locked<[Key: Playback]>([:])

    /// How long, in seconds, a playback lasts after its last request. Players may buffer so much that they make no
    /// request for more than half a minute.
    static let pause: Int64 = 90
    /// The maximum number of playbacks. If there are more, the one with the oldest last request is forgotten.
    static let maxCount = 1024

    /// An answer that is being sent. Its playback lasts at least until the answer has been sent.
    final class Open: Sendable {
        private let playbacks: Playbacks
        private let key: Key

        fileprivate init(_ playbacks: Playbacks, _ key: Key) { (self.playbacks, self.key) = (playbacks, key) }

        deinit { playbacks.end(key) }
    }

    /// Records a request that is answered at once.
    ///
    /// - Parameter now: the current time in seconds since 1970.
    func note(_ resource: NamedResource, through link: LinkScope, at now: Int64) {
        _ = note(resource, link, at: now, isOpen: false)
    }

    /// Records a request whose answer takes a while.
    ///
    /// - Parameter now: the current time in seconds since 1970.
    /// - Returns: an object that the caller must keep until the answer has been sent.
    func begin(_ resource: NamedResource, through link: LinkScope, at now: Int64) -> Open {
        Open(self, note(resource, link, at: now, isOpen: true))
    }

    private func note(_ resource: NamedResource, _ link: LinkScope, at now: Int64, isOpen: Bool) -> Key {
        let key = Key(link, resource)
        known.withLock { known in
            var playback =
                known[key].take().flatMap { $0.lasts(at: now) ? $0 : nil }
                ?? Playback(
                    holder: key.holder, resource: resource, title: link.hidden?.title, began: now, last: now)
            playback.resource = resource
            playback.last = max(playback.last, now)
            if isOpen { playback.open += 1 }
            known[key] = playback
            guard known.count > Self.maxCount else { return }
            known = known.filter { $0.value.lasts(at: now) }
            guard known.count > Self.maxCount, let oldest = known.min(by: { $0.value.last < $1.value.last }) else {
                return
            }
            known[oldest.key] = nil
        }
        return key
    }

    private func end(_ key: Key) {
        known.withLock { known in
            guard let open = known[key]?.open, open > 0 else { return }
            known[key]?.open = open - 1
        }
    }

    /// Forgets all playbacks, because the vault is locked.
    func forgetAll() { known.withLock { $0 = [:] } }

    /// Returns the current playbacks, in no meaningful order.
    ///
    /// - Parameter now: the current time in seconds since 1970.
    func all(at now: Int64) -> [Playback] {
        known.withLock { known in
            known = known.filter { $0.value.lasts(at: now) }
            return Array(known.values)
        }
    }
}

extension Playbacks.Playback {
    /// Returns this playback combined with another playback of the same title.
    func joined(with other: Self) -> Self {
        var joined = self
        joined.began = min(began, other.began)
        joined.last = max(last, other.last)
        joined.open += other.open
        return joined
    }

    fileprivate func lasts(at now: Int64) -> Bool { open > 0 || last + Playbacks.pause > now }
}
