import VaultCrypto
import VaultModel
import VaultStorage

/// Makes and checks what opens the service: playback addresses, and the admin token. It needs the keyring only.
public struct TokenIssuer: Sendable {
    private let keyring: Keyring

    init(keyring: Keyring) { self.keyring = keyring }

    /// Unlocks a keyring.
    ///
    /// - Throws: ``VaultError`` as ``Vault/open(_:unlock:options:)``.
    public static func open(keyring path: String, unlock: Unlock) async throws -> TokenIssuer {
        try await BlockingPool.shared.run {
            TokenIssuer(keyring: try KeyringReader.unlock(KeyringFile.read(path), with: try unlock.secret()))
        }
    }

    /// The path and query, on the service, under which a player finds a URL until it expires. It opens the folder of
    /// the URL's path and what lies below, so that relative references work; of what was stored with somebody's fields or
    /// credentials it opens no more than that one URL.
    ///
    /// - Parameter expires: seconds since 1970.
    public func playbackPath(for url: MediaURL, expires: Int64) -> String {
        path(of: url, capability(for: url, name: nil, isForPath: true, expires: expires))
    }

    /// The same for a resource that more than its URL names: by a content id, or by whom it was stored for. It opens that
    /// one resource, and carries no field and no credentials.
    ///
    /// - Parameter expires: seconds since 1970.
    /// - Throws: ``VaultError`` with code `invalidArgument` where the reference cannot be used.
    public func playbackPath(for reference: MediaReference, expires: Int64) throws -> String {
        let reference = try reference.settled()
        let principal = try CacheKey(
            reference, policy: KeyPolicy(), keyring: keyring, locator: keyring.newestLocator
        ).principal
        let name = CapabilityName(contentID: reference.contentID, principal: principal)
        let kind: Capability.Kind = reference.isDerived ? .derived : .named
        return path(of: reference.url, capability(for: reference.url, kind, name: name, isForPath: true, expires: expires))
    }

    /// The capability for the folder of a URL's path. It opens nothing that was stored with somebody's fields or
    /// credentials.
    ///
    /// - Parameter expires: seconds since 1970.
    public func capability(for url: MediaURL, expires: Int64) -> String {
        capability(for: url, name: nil, isForPath: false, expires: expires)
    }

    private func capability(
        for url: MediaURL, _ kind: Capability.Kind = .named, name: CapabilityName?, isForPath: Bool, expires: Int64
    ) -> String {
        let depth = Capability.folderDepth(of: url.path)
        let prefix = Capability.prefix(of: url.path, depth: depth) ?? "/"
        var draft = Capability(expiry: expires, depth: depth, kind: kind, name: name, mac: [])
        if isForPath, name == nil {
            draft = Capability(expiry: expires, depth: depth, kind: kind, own: own(of: url, draft), mac: [])
        }
        return Capability(
            expiry: expires, depth: depth, kind: kind, name: name, own: draft.own, mac: mac(of: draft, url, prefix)
        ).text
    }

    private func path(of url: MediaURL, _ capability: String) -> String {
        let query = url.query.map { "?\($0)" } ?? ""
        return "/media/\(capability)/\(url.scheme)/\(url.authority)\(url.path)\(query)"
    }

    /// What a raw request target names, where its capability is right, has not expired, and covers it; nil for every
    /// other target alike.
    ///
    /// - Parameters:
    ///   - target: the target as it came: `/media/<capability>/<scheme>/<authority>/<path>?<query>`.
    ///   - now: seconds since 1970.
    public func reference(ofTarget target: String, now: Int64) -> MediaReference? {
        admission(ofTarget: target, now: now)?.reference
    }

    /// What a target was found to name, and for how long that holds.
    package struct Admission: Sendable {
        package let reference: MediaReference
        fileprivate let expires: Int64
        /// The keyring's, when it was found: who revokes addresses raises it.
        fileprivate let revision: Int64
    }

    /// Whether what was found once holds still.
    package func isGood(_ admission: Admission, now: Int64) -> Bool {
        admission.expires > now && admission.revision == keyring.revision
    }

    /// The same as ``reference(ofTarget:now:)``, to be kept: finding out costs more than asking ``isGood(_:now:)``.
    package func admission(ofTarget target: String, now: Int64) -> Admission? {
        let revision = keyring.revision
        guard var opened = address(target), opened.expires > now else { return nil }
        // An address that leads to another opens no more than that one does; each is shorter, so this ends.
        while let inner = address(within: opened.reference) {
            guard inner.expires > now else { return nil }
            opened = opened.leading(to: inner)
        }
        return Admission(reference: opened.reference, expires: opened.expires, revision: revision)
    }

    /// What a reference means that was given this vault's own address for players in place of a URL: stored as it is, its
    /// bytes would be stored twice. Whose address it is shows in its capability alone, expired or not.
    func unwrapped(_ reference: MediaReference) -> MediaReference {
        var outer = PlaybackLink(reference: reference, expires: .max)
        while let inner = address(within: outer.reference) { outer = outer.leading(to: inner) }
        return outer.reference
    }

    private func address(within reference: MediaReference) -> PlaybackLink? {
        let url = reference.url
        guard url.path.hasPrefix("/media/") else { return nil }
        return address(url.path + (url.query.map { "?\($0)" } ?? ""))
    }

    /// What a target names, where its capability is this vault's and covers it, and until when; nil for every other target
    /// alike.
    private func address(_ target: String) -> PlaybackLink? {
        // Byte by byte: as characters a slash may be part of something larger, and it takes longer.
        let parts = target.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 5, omittingEmptySubsequences: false)
            .map(Substring.init)
        guard parts.count == 6, parts[0].isEmpty, parts[1] == "media", let capability = Capability(parts[2]),
            parts[3] == "http" || parts[3] == "https",
            // Whatever would be read differently by the origin than by us is refused.
            !target.utf8.contains(0x23), !parts[4].utf8.contains(0x40),
            let url = try? MediaURL("\(parts[3])://\(parts[4])/\(parts[5])"), url.authority == parts[4],
            url.path + (url.query.map { "?\($0)" } ?? "") == "/" + parts[5], !DotSegments.areHidden(in: url.path),
            let prefix = Capability.prefix(of: url.path, depth: capability.depth)
        else { return nil }
        guard ConstantTime.areEqual(mac(of: capability, url, prefix), capability.mac) else { return nil }
        var reference = MediaReference(url, contentID: capability.name?.contentID)
        reference.principal = capability.name?.principal
        reference.isDerived = capability.kind == .derived
        reference.isNobodys =
            capability.name == nil && !ConstantTime.areEqual(own(of: url, capability), capability.own ?? [])
        return PlaybackLink(reference: reference, expires: capability.expiry)
    }

    /// Whether a text is the admin token, found out in a time that does not depend on how much of it is right.
    public func isAdminToken(_ text: String) -> Bool {
        ConstantTime.areEqual(Array(text.utf8), Array(adminToken.utf8))
    }

    /// What the administration interface asks for.
    public var adminToken: String {
        Base64.encodeForURL(keyring.token(.admin, LittleEndian.bytes(UInt64(keyring.tokenEpoch))))
    }

    private func mac(of capability: Capability, _ url: MediaURL, _ prefix: String) -> [UInt8] {
        guard let name = capability.name else {
            let rest = capability.own.map { [[], $0] } ?? []
            return token(capability, url, scope: prefix, rest, Capability.macByteCount)
        }
        return token(capability, url, scope: url.target, [name.bytes], Capability.macByteCount)
    }

    /// What tells a target among those of its folder.
    private func own(of url: MediaURL, _ capability: Capability) -> [UInt8] {
        token(capability, url, scope: url.target, [[]], Capability.ownByteCount)
    }

    private func token(
        _ capability: Capability, _ url: MediaURL, scope: String, _ rest: [[UInt8]], _ count: Int
    ) -> [UInt8] {
        let message = Capability.message(
            epoch: keyring.tokenEpoch, expiry: capability.expiry, depth: capability.depth, kind: capability.kind,
            url: url, scope: scope, rest: rest)
        return Array(keyring.token(.capability, message).prefix(count))
    }
}

extension MediaURL {
    /// Path and query, as they are asked of the origin.
    fileprivate var target: String { path + (query.map { "?\($0)" } ?? "") }
}

/// What one of this vault's addresses for players names, and until when.
struct PlaybackLink {
    let reference: MediaReference
    /// Seconds since 1970.
    let expires: Int64

    /// What the address means where what it names is another of the vault's addresses.
    func leading(to inner: PlaybackLink) -> PlaybackLink {
        var reference = reference
        reference.url = inner.reference.url
        reference.contentID = reference.contentID ?? inner.reference.contentID
        reference.principal = reference.principal ?? inner.reference.principal
        reference.isNobodys = reference.isNobodys || inner.reference.isNobodys
        // Whoever gives the address anew has not named what it leads to.
        reference.isDerived = reference.isDerived || inner.reference.isDerived
        return PlaybackLink(reference: reference, expires: min(expires, inner.expires))
    }
}

extension Vault {
    /// Revokes every playback address made so far, and the admin token: from now on they open nothing, here and after a
    /// restart. Answers that have begun go on. New ones are made as before.
    ///
    /// The keyring's file is written anew; a copy of the older one opens the vault no more.
    ///
    /// - Throws: ``VaultError`` with code `owned` where this is not the owner; with code `storage`, `tamperedKeyring` or
    ///   `olderKeyring` where the file cannot be read or written, or is not the one that was opened; with code `busy` where an
    ///   act works on the keys.
    public func revokeLinks() async throws {
        try await changingKeys(.revokeLinks) { _, log in
            try log.change(.revokeLinks) { $0.revokeTokens() }
        }
    }
}
