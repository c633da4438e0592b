import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

/// Issues and verifies the credentials of the service: playback links and tokens.
///
/// Playback links without a name need only the keyring. Tokens and named links are accepted only by an open vault,
/// which knows which of them it has issued and not revoked; see ``Vault/tokens``.
public struct TokenIssuer: Sendable {
    let keyring: Keyring
    /// The grants of the vault; nil if only a keyring was opened.
    let grants: GrantTable?

    init(keyring: Keyring, grants: GrantTable? = nil) { (self.keyring, self.grants) = (keyring, grants) }

    /// Unlocks a keyring and returns its token issuer.
    ///
    /// - Throws: ``VaultError`` with the same codes as ``Vault/open(_:unlock:options:)``.
    public static func open(keyring path: String, unlock: Unlock) async throws -> TokenIssuer {
        try await BlockingPool.shared.run {
            TokenIssuer(keyring: try KeyringReader.unlock(KeyringFile.read(path), with: try unlock.secret()))
        }
    }

    /// Returns the path and query of a playback link for a URL.
    ///
    /// Until it expires, the link opens the folder of the URL's path and everything below it, so that relative
    /// references work. Among resources that were stored with request header fields or credentials, it opens only the
    /// one at this URL.
    ///
    /// - Parameters:
    ///   - url: the URL of the resource.
    ///   - expires: the expiry, in seconds since 1970.
    public func playbackPath(for url: MediaURL, expires: Int64) -> String {
        path(of: url, capability(for: url, name: nil, isForPath: true, expires: expires))
    }

    /// Returns the path and query of a playback link for a resource that is identified by more than its URL: by a
    /// content id, or by the principal for whom it was stored.
    ///
    /// The link opens only this resource, and contains no request header fields and no credentials.
    ///
    /// - Parameters:
    ///   - reference: the reference to the resource.
    ///   - expires: the expiry, in seconds since 1970.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the reference cannot be used.
    public func playbackPath(for reference: MediaReference, expires: Int64) throws -> String {
        try playbackPath(for: reference, expires: expires, grant: nil)
    }

    /// Returns the path and query of a named link, which opens nothing without its grant.
    func playbackPath(for reference: MediaReference, expires: Int64, grant: GrantID?) throws -> String {
        let reference = try reference.settled()
        let principal = try CacheKey(
            reference, policy: KeyPolicy(), keyring: keyring, locator: keyring.newestLocator
        ).principal
        let name = CapabilityName(contentID: reference.contentID, principal: principal)
        let kind: Capability.Kind = reference.isDerived ? .derived : .named
        return path(
            of: reference.url,
            capability(for: reference.url, kind, name: name, isForPath: true, expires: expires, grant: grant))
    }

    /// Returns a capability for the folder of a URL's path. It opens no resource that was stored with request header
    /// fields or credentials.
    ///
    /// - Parameters:
    ///   - url: the URL of the resource.
    ///   - expires: the expiry, in seconds since 1970.
    public func capability(for url: MediaURL, expires: Int64) -> String {
        capability(for: url, name: nil, isForPath: false, expires: expires)
    }

    /// Returns a capability for the folder of a URL's path, or for the URL alone if there is a name.
    ///
    /// - Parameters:
    ///   - isForPath: whether to mark the URL as the one target at which the link opens a resource stored for a
    ///     principal.
    ///   - variables: the variables that the playlists behind the link can import.
    ///   - grant: the grant of a named link, without which the link opens nothing.
    func capability(
        for url: MediaURL, _ kind: Capability.Kind = .named, name: CapabilityName?, isForPath: Bool, expires: Int64,
        variables: PlaylistVariables? = nil, grant: GrantID? = nil
    ) -> String {
        let depth = Capability.folderDepth(of: url.path)
        let prefix = Capability.prefix(of: url.path, depth: depth) ?? "/"
        func draft(own: [UInt8]?, mac: [UInt8] = []) -> Capability {
            Capability(
                expiry: expires, depth: depth, kind: kind, name: name, own: own, variables: variables, grant: grant,
                mac: mac)
        }
        let own = isForPath && name == nil ? own(of: url, draft(own: nil)) : nil
        return draft(own: own, mac: mac(of: draft(own: own), url, prefix)).text
    }

    /// Returns the path and query of a URL's playback link with this capability.
    func path(of url: MediaURL, _ capability: String) -> String {
        let query = url.query.map { "?\($0)" } ?? ""
        return "/media/\(capability)/\(url.scheme)/\(url.authority)\(url.path)\(query)"
    }

    /// Returns the reference to the resource that a raw request target names; nil unless its capability is valid, has
    /// not expired, and covers the target. The caller cannot tell which of these failed.
    ///
    /// - Parameters:
    ///   - target: the target as received: `/media/<capability>/<scheme>/<authority>/<path>?<query>`.
    ///   - now: the current time, in seconds since 1970.
    public func reference(ofTarget target: String, now: Int64) -> MediaReference? {
        admission(ofTarget: target, now: now)?.reference
    }

    /// A target that was verified, and how long the verification remains valid.
    package struct Admission: Sendable {
        package internal(set) var reference: MediaReference
        /// The resource under its name; nil if only the index knows the name, or if the reference cannot be used.
        package internal(set) var resource: NamedResource?
        /// The scope that the link opens. The links in a manifest behind it stay within this scope.
        package let scope: LinkScope
        /// Whether the target is relative to a link that hides its origin, so it must be checked to belong to the same
        /// title.
        package let isBelow: Bool
        /// Until when the admission may be kept: the link's expiry, and for a link with a grant at most the end of the
        /// period in which one use is recorded.
        fileprivate let end: Int64
        /// The keyring's revision at the verification. Revoking all playback links increments it.
        fileprivate let revision: Int64
        /// The grant table's revision at the verification of a link with a grant. Revoking a grant increments it.
        fileprivate let grantRevision: Int64?
    }

    /// Returns whether an earlier verification is still valid.
    package func isValid(_ admission: Admission, now: Int64) -> Bool {
        admission.end > now && admission.revision == keyring.revision
            && (admission.grantRevision == nil || admission.grantRevision == grants?.revision)
    }

    /// Verifies a target as ``reference(ofTarget:now:)`` does. The result can be kept, because ``isValid(_:now:)`` is
    /// faster than another verification.
    package func admission(ofTarget target: String, now: Int64) -> Admission? {
        let (revision, grantRevision) = (keyring.revision, grants?.revision)
        var hiding: HiddenLinks.Opened?
        if HiddenLinks.mayBe(target) {
            guard let found = try? HiddenLinks(keyring).open(target) else { return nil }
            hiding = found
        }
        guard var opened = address(hiding?.target ?? target), opened.expires > now else { return nil }
        // A link that leads to another link opens no more than the inner one. Inner links are always shorter, so the
        // loop ends.
        while let inner = address(within: opened.reference) {
            // The links in a manifest can depend on one named link, but not on two.
            guard inner.expires > now, opened.grant == nil || inner.grant == nil || opened.grant == inner.grant else {
                return nil
            }
            opened = opened.leading(to: inner)
        }
        var end = opened.expires
        if let grant = opened.grant {
            guard let last = grants?.useLinks(of: grant, era: era, now: now) else { return nil }
            end = min(end, last)
        }
        let scope = LinkScope(
            url: opened.reference.url, capability: opened.folder == nil ? nil : opened.capability,
            folder: opened.folder, variables: opened.variables, expires: opened.expires, grant: opened.grant,
            isDerived: opened.reference.isDerived, hidden: hiding?.hidden)
        return Admission(
            reference: opened.reference, scope: scope, isBelow: hiding?.isBelow ?? false, end: end, revision: revision,
            grantRevision: opened.grant == nil ? nil : grantRevision)
    }

    /// Returns the reference to the resource behind one of this vault's own playback links; any other reference is
    /// returned unchanged.
    ///
    /// If the bytes were stored under the link itself, they would be stored twice. The capability alone shows that the
    /// link is this vault's, whether or not it has expired.
    func resolvingPlaybackLinks(_ reference: MediaReference) -> MediaReference {
        var outer = PlaybackLink(
            reference: reference, expires: .max, capability: "", folder: nil, variables: [:], grant: nil)
        while let inner = address(within: outer.reference) { outer = outer.leading(to: inner) }
        return outer.reference
    }

    private func address(within reference: MediaReference) -> PlaybackLink? {
        let url = reference.url
        guard url.path.hasPrefix("/media/") else { return nil }
        return address(url.path + (url.query.map { "?\($0)" } ?? ""))
    }

    /// Parses and verifies a target; nil unless its capability is this vault's and covers the target.
    private func address(_ target: String) -> PlaybackLink? {
        // Split bytes, not characters. A slash may be part of a character and be missed, and splitting characters is
        // slower.
        let parts = target.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 5, omittingEmptySubsequences: false)
            .map(Substring.init)
        guard parts.count == 6, parts[0].isEmpty, parts[1] == "media", let capability = Capability(parts[2]),
            parts[3] == "http" || parts[3] == "https",
            // Reject any target that the origin could parse differently.
            !target.utf8.contains(0x23), !parts[4].utf8.contains(0x40),
            let url = try? MediaURL("\(parts[3])://\(parts[4])/\(parts[5])"), url.authority == parts[4],
            url.path + (url.query.map { "?\($0)" } ?? "") == "/" + parts[5], !DotSegments.mayBeHidden(in: url.path),
            let prefix = Capability.prefix(of: url.path, depth: capability.depth)
        else { return nil }
        guard ConstantTime.areEqual(mac(of: capability, url, prefix), capability.mac) else { return nil }
        var reference = MediaReference(url, contentID: capability.name?.contentID)
        reference.principal = capability.name?.principal
        reference.isDerived = capability.kind == .derived
        reference.excludesPrincipals =
            capability.name == nil && !ConstantTime.areEqual(own(of: url, capability), capability.own ?? [])
        return PlaybackLink(
            reference: reference, expires: capability.expiry, capability: capability.text,
            folder: capability.name == nil ? prefix : nil, variables: capability.variables?.values ?? [:],
            grant: capability.grant)
    }

    private func mac(of capability: Capability, _ url: MediaURL, _ prefix: String) -> [UInt8] {
        let variables = capability.variables.map { [[], [], $0.bytes] } ?? []
        let grant = capability.grant.map { [[], [], [], $0.bytes] } ?? []
        guard let name = capability.name else {
            let rest = capability.own.map { [[], $0] } ?? []
            return token(capability, url, scope: prefix, rest + variables + grant, Capability.macByteCount)
        }
        return token(capability, url, scope: url.target, [name.bytes] + variables + grant, Capability.macByteCount)
    }

    /// Returns the mark that identifies a target within its folder.
    private func own(of url: MediaURL, _ capability: Capability) -> [UInt8] {
        token(capability, url, scope: url.target, [[]], Capability.ownByteCount)
    }

    private func token(
        _ capability: Capability, _ url: MediaURL, scope: String, _ rest: [[UInt8]], _ count: Int
    ) -> [UInt8] {
        let message = Capability.message(
            epoch: keyring.tokenEpoch, expiry: capability.expiryText, depth: capability.depth, kind: capability.kind,
            url: url, scope: scope, rest: rest)
        return Array(keyring.token(.capability, message).prefix(count))
    }
}

extension MediaURL {
    /// The path and query, as they are requested from the origin.
    fileprivate var target: String { path + (query.map { "?\($0)" } ?? "") }
}

/// One of this vault's playback links: the resource that it names, and the limits of the link.
struct PlaybackLink {
    let reference: MediaReference
    /// The expiry in seconds since 1970.
    let expires: Int64
    /// The text of the link's capability.
    let capability: String
    /// The folder that the link opens; nil if it opens a single target, or leads to another link.
    let folder: String?
    /// The variables that the playlists behind the link can import.
    let variables: [String: String]
    /// The grant of a named link, without which the link opens nothing.
    let grant: GrantID?

    /// Returns the combination of this link and the playback link of the vault to which it leads.
    func leading(to inner: PlaybackLink) -> PlaybackLink {
        var reference = reference
        reference.url = inner.reference.url
        reference.contentID = reference.contentID ?? inner.reference.contentID
        reference.principal = reference.principal ?? inner.reference.principal
        reference.excludesPrincipals = reference.excludesPrincipals || inner.reference.excludesPrincipals
        // Passing on a link does not make its target a named one, so the result is derived if either link is.
        reference.isDerived = reference.isDerived || inner.reference.isDerived
        return PlaybackLink(
            reference: reference, expires: min(expires, inner.expires), capability: capability, folder: nil,
            variables: inner.variables, grant: grant ?? inner.grant)
    }
}

/// The scope of a verified playback link.
///
/// The links in a manifest behind it expire when it does, and reuse its capability for targets that it covers.
package struct LinkScope: Hashable, Sendable {
    /// The URL that the link names.
    let url: MediaURL
    /// The capability that opens ``folder``; nil if there is no folder.
    package let capability: String?
    /// The folder that the link opens; nil if it opens a single target, or leads to another link.
    let folder: String?
    /// The variables that the manifest naming this link defines for its playlists.
    var variables: [String: String] = [:]
    /// The expiry in seconds since 1970.
    let expires: Int64
    /// The grant of a named link. When the grant ends, the links in a manifest behind the link end, too.
    package var grant: GrantID?
    /// Whether a manifest or a redirect named the URL.
    var isDerived = false
    /// The viewer for whom the links in a manifest hide the origin, too; nil if they may show it.
    package var hidden: HiddenTitle?
}
