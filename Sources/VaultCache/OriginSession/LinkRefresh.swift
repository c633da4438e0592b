import VaultFetch
public import VaultModel

/// Finds a new link to a title whose origin refuses the vault's links; returns nil if there is none.
///
/// For each title, the vault makes one call at a time, and leaves at least ``RefusedLink/interval`` seconds between
/// calls. If a call throws, the title's readers get the origin's refusal.
public typealias LinkRefresher = @Sendable (_ refused: RefusedLink) async throws -> FreshLink?

/// A title whose origin refused every link that the vault has.
public struct RefusedLink: Hashable, Sendable {
    /// The content id, which is the caller's own name for the title; only titles that have one are refreshed.
    public let contentID: String
    /// The status with which the origin refused: 401, 403 or 410.
    public let status: Int
    /// Whether the title is stored for one user only; if not, a new link must have no fields that identify a user.
    public let isPrivate: Bool

    /// The minimum time between two refreshes of a title, in seconds, so that an origin that refuses every link is left
    /// alone.
    public static let interval = 30

    /// The statuses which mean that the link no longer works, rather than that the title does not exist.
    static let statuses = [401, 403, 410]

    /// Creates the refresher's argument; nil if the resource has no content id, or if the status does not mean that the
    /// link no longer works.
    init?(contentID: String?, status: Int, isPrivate: Bool) {
        guard let contentID, Self.statuses.contains(status) else { return nil }
        (self.contentID, self.status, self.isPrivate) = (contentID, status, isPrivate)
    }
}

/// A new link to a title.
public struct FreshLink: Hashable, Sendable {
    /// The URL from which the title's bytes can now be requested.
    public var url: MediaURL
    /// Request fields for the URL's origin. If there are none, earlier fields are still sent to the origin that they
    /// were given for.
    public var fields: HeaderFields

    /// Creates a link.
    public init(_ url: MediaURL, fields: HeaderFields = HeaderFields()) { (self.url, self.fields) = (url, fields) }

    /// Checks that the vault can use the link in place of the refused one.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if a field cannot be sent, or identifies a user although
    ///   all users share the title.
    package func check(for refused: RefusedLink) throws { _ = try reference(for: refused, isDerived: false) }

    /// Returns the reference with which a resource can be requested through this link.
    ///
    /// - Parameter isDerived: whether a manifest or a redirect named the resource. A new link does not extend the
    ///   resource's reach.
    /// - Throws: as ``check(for:)``.
    func reference(for refused: RefusedLink, isDerived: Bool) throws -> MediaReference {
        var reference = try MediaReference(url, fields: fields).settled()
        guard refused.isPrivate || Identity.bytes(of: reference.fields) == nil else {
            throw VaultError(
                .invalidArgument, "its header fields stand for a user, but the title is shared by all users")
        }
        reference.isDerived = isDerived
        return reference
    }
}

/// A vault's link refresher, if it has one.
package final class LinkRefresherInForce: Sendable {
    private let refresher = Locked<LinkRefresher?>(nil)

    var current: LinkRefresher? { refresher.value }

    package func use(_ refresher: LinkRefresher?) { self.refresher.set(refresher) }
}

/// Refreshes one resource's link: one call at a time, and not too often.
final class LinkRefreshes: Sendable {
    private let lock = AsyncLock()
    private let pace = Locked(LinkRefreshPace())

    /// Calls a refresher, unless the link was renewed while this call waited, or the last refresh is too recent.
    ///
    /// - Parameters:
    ///   - isRenewed: returns whether an untried link remains.
    ///   - take: adds the new link, and returns whether an untried link remains.
    /// - Returns: whether an untried link remains now.
    func refresh(
        _ refused: RefusedLink, by refresher: LinkRefresher, isRenewed: () -> Bool, take: (FreshLink) throws -> Bool
    ) async -> Bool {
        await lock.exclusively {
            if isRenewed() { return true }
            guard pace.withLock({ $0.begin(now: .now) }) else { return false }
            do {
                return try await refresher(refused).map { try take($0) } ?? false
            } catch is CancellationError {
                // Forget this call, because the next caller may need the link at once.
                pace.withLock { $0 = LinkRefreshPace() }
                return false
            } catch {
                return false
            }
        }
    }
}

/// A value that decides when a resource's link may be refreshed again.
struct LinkRefreshPace: Sendable {
    private var last: ContinuousClock.Instant?

    /// Returns whether a refresh may begin now; if so, counts it as begun.
    mutating func begin(now: ContinuousClock.Instant) -> Bool {
        if let last, now - last < .seconds(RefusedLink.interval) { return false }
        last = now
        return true
    }
}
